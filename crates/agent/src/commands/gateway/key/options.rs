//! Key options: scopes, models, expiry and limits.

use std::str::FromStr;

use gateway::config::Config;
use gateway_store::{KeyChange, LimitsChange, Scope};
use task_loop::nearest;
use task_loop::untrusted::printable;

use crate::commands::gateway::amount::{AmountUnit, read_budget};
use crate::commands::gateway::moment;
use crate::diagnostic::{Diagnostic, Result};
use crate::session::Session;

/// The values for no limit or no expiry.
const NONE: &[&str] = &["none", "never", "unlimited"];

/// What is typed about a key.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct KeyOptions {
    /// Comma-separated scopes: models, chat, responses, research, media, search, fetch, mcp, or `all`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    scopes: Option<Vec<String>>,
    /// Comma-separated model ids or aliases, or `all`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    models: Option<Vec<String>>,
    /// Expiry: a duration such as 30d, a time such as 2027-01-31T00:00:00Z, or `never`
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Total spend limit, including rotated keys, or `none`
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    spend_limit: Option<String>,
    /// Budget that resets, such as `10/month` (day, week or month), or `none`
    #[arg(long, value_name = "AMOUNT/PERIOD", allow_hyphen_values = true)]
    budget: Option<String>,
    /// Requests per minute, or `none`
    #[arg(long, value_name = "N")]
    rpm: Option<String>,
    /// Concurrent requests, or `none`
    #[arg(long, value_name = "N")]
    concurrency: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

impl KeyOptions {
    pub(super) fn is_empty(&self) -> bool {
        let lists = [&self.scopes, &self.models];
        let texts = [&self.expires, &self.spend_limit, &self.budget, &self.rpm, &self.concurrency];
        lists.into_iter().all(Option::is_none) && texts.into_iter().all(Option::is_none)
    }

    /// The changes that the options make to a new or existing key.
    pub(super) fn change(
        &self,
        name: Option<String>,
        config: &Config,
        session: &Session,
    ) -> Result<KeyChange> {
        Ok(KeyChange {
            name,
            scopes: self.scopes()?,
            expires_at: optional(self.expires.as_deref(), |text| moment::moment(text, session))?,
            limits: self.limits()?,
            models: self.models(config, session),
        })
    }

    fn scopes(&self) -> Result<Option<Vec<Scope>>> {
        let Some(words) = &self.scopes else { return Ok(None) };
        let mut scopes = Vec::new();
        for word in words.iter().map(|word| word.trim()) {
            match Scope::parse(word) {
                Some(scope) => scopes.push(scope),
                None if word == "all" => scopes.extend(Scope::ALL),
                None => {
                    let known = Scope::ALL.map(Scope::as_str);
                    let message = format!("unknown scope `{}`", printable(word));
                    let all = format!("valid scopes: {}", known.join(", "));
                    return Err(Diagnostic::usage(message).did_you_mean(nearest(word, known), all));
                }
            }
        }
        scopes.sort_unstable();
        scopes.dedup();
        Ok(Some(scopes))
    }

    /// The models, if given; the inner `None` means all. Warns about unknown names.
    #[expect(clippy::option_option, reason = "not typed, typed as none, and typed")]
    fn models(&self, config: &Config, session: &Session) -> Option<Option<Vec<String>>> {
        let names = self.models.as_ref()?;
        if matches!(names.as_slice(), [word] if word == "all") {
            return Some(None);
        }
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        for name in &names {
            let provider = name.split_once('/').and_then(|(name, _)| config.provider(name));
            if provider.is_none() && config.alias(name).is_none() {
                let name = printable(name);
                session.output.warn(format!("`{name}` is not a known model or alias"));
            }
        }
        Some(Some(names))
    }

    fn limits(&self) -> Result<LimitsChange> {
        let spend = optional(self.spend_limit.as_deref(), |text| self.unit.read(text))?;
        let rpm = optional(self.rpm.as_deref(), |text| count("--rpm", text))?;
        let concurrency =
            optional(self.concurrency.as_deref(), |text| count("--concurrency", text))?;
        let budget = optional(self.budget.as_deref(), |text| read_budget(text, self.unit))?;
        Ok(LimitsChange { spend, requests_per_minute: rpm, concurrency, budget })
    }
}

#[expect(clippy::option_option, reason = "not typed, typed as none, and typed")]
pub(crate) fn optional<T>(
    text: Option<&str>,
    read: impl FnOnce(&str) -> Result<T>,
) -> Result<Option<Option<T>>> {
    match text.map(str::trim) {
        None => Ok(None),
        Some(word) if NONE.contains(&word) => Ok(Some(None)),
        Some(text) => read(text).map(|value| Some(Some(value))),
    }
}

fn count(option: &str, text: &str) -> Result<u32> {
    u32::from_str(text).ok().filter(|count| *count > 0).ok_or_else(|| {
        Diagnostic::usage(format!("`{option}` must be a positive whole number or `none`"))
    })
}
