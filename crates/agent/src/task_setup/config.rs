//! The part `task` of config.yaml.

use std::time::Duration;

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::config;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::task::limits::{Bounds, MAX_ROUNDS, MAX_TIME};
use crate::task::model::ApiKind;

/// The share of a model's window that definitions of tools may take before they have to be found,
/// in percent.
const DEFAULT_TOOLS_SHARE: u8 = 25;
/// The longest further instructions.
const MAX_INSTRUCTIONS: usize = 64 * 1024;
const MICROS_OF_A_CREDIT: f64 = 1_000_000.0;

/// How tasks are run, unless the command line says otherwise.
#[derive(Debug, Clone)]
pub(crate) struct TaskConfig {
    pub(crate) bounds: Bounds,
    pub(crate) form: ApiKind,
    pub(crate) tools_share: u8,
    /// Whether the tools of the member service are offered.
    pub(crate) own_tools: bool,
    /// What every model is told beside what we tell it.
    pub(crate) instructions: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct File {
    task: Option<TaskFile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    max_rounds: Option<Spanned<i64>>,
    max_minutes: Option<Spanned<f64>>,
    max_credits: Option<Spanned<f64>>,
    api: Option<Spanned<String>>,
    tools_share: Option<Spanned<i64>>,
    member_tools: Option<bool>,
    instructions: Option<Spanned<String>>,
}

impl TaskConfig {
    pub(crate) fn load(session: &Session) -> Result<Self, Diagnostic> {
        let path = session.home()?.config();
        let file: File = config::part(&path)?;
        let task = file.task.unwrap_or_default();
        let wrong = |line: u64, key: &str, wanted: &str| {
            let message = format!("{}:{line}: `task.{key}` must be {wanted}", path.display());
            Diagnostic::configuration(message)
        };
        let mut bounds = Bounds::default();
        if let Some(rounds) = task.max_rounds {
            let good = u32::try_from(rounds.value).ok().filter(|n| (1..=MAX_ROUNDS).contains(n));
            bounds.rounds = good.ok_or_else(|| {
                wrong(rounds.referenced.line(), "max_rounds", &format!("1 to {MAX_ROUNDS}"))
            })?;
        }
        if let Some(minutes) = task.max_minutes {
            let time = Duration::try_from_secs_f64(minutes.value * 60.0).ok();
            let good = time.filter(|time| !time.is_zero() && *time <= MAX_TIME);
            bounds.time = good.ok_or_else(|| {
                let wanted = format!("more than 0 and at most {}", MAX_TIME.as_secs() / 60);
                wrong(minutes.referenced.line(), "max_minutes", &wanted)
            })?;
        }
        if let Some(credits) = task.max_credits {
            let micros = micros(credits.value);
            bounds.micros = Some(micros.ok_or_else(|| {
                wrong(credits.referenced.line(), "max_credits", "an amount of credits")
            })?);
        }
        let form = match &task.api {
            None => ApiKind::default(),
            Some(api) => match api.value.as_str() {
                "chat" => ApiKind::Chat,
                "responses" => ApiKind::Responses,
                _ => {
                    let line = api.referenced.line();
                    return Err(wrong(line, "api", "`chat` or `responses`"));
                }
            },
        };
        let tools_share = match &task.tools_share {
            None => DEFAULT_TOOLS_SHARE,
            Some(share) => {
                u8::try_from(share.value).ok().filter(|n| *n <= 100).ok_or_else(|| {
                    wrong(share.referenced.line(), "tools_share", "a percentage from 0 to 100")
                })?
            }
        };
        if let Some(text) = &task.instructions
            && text.value.len() > MAX_INSTRUCTIONS
        {
            let wanted = format!("at most {MAX_INSTRUCTIONS} bytes long");
            return Err(wrong(text.referenced.line(), "instructions", &wanted));
        }
        let instructions = task.instructions.map(|text| text.value);
        let own_tools = task.member_tools.unwrap_or(true);
        Ok(Self { bounds, form, tools_share, own_tools, instructions })
    }
}

/// Micro-credits of an amount that a person wrote.
#[expect(clippy::cast_possible_truncation, reason = "within bounds, and rounded")]
pub(crate) fn micros(credits: f64) -> Option<i64> {
    let micros = (credits * MICROS_OF_A_CREDIT).round();
    (0.0..9e15).contains(&micros).then_some(micros as i64)
}
