//! The welcome of `agent up`: address, key, models, and commands to try.

use std::collections::BTreeMap;
use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;

use futures_util::future::join_all;
use gateway::config::{Capability, Config, Kind, SearchProvider};
use gateway::probe;
use serde_json::json;
use task_loop::untrusted::printable;

use super::embedded::{files, how_to_fetch};
use super::first_member::LocalMember;
use crate::commands::gateway::{DetectedServer, SNIPPET, in_credits};
use crate::diagnostic::Result;
use crate::mcp::advice::quoted;
use crate::member::settings::{API_KEY, BASE_URL, Settings};
use crate::output::GOOD;
use crate::session::Session;

#[derive(Debug)]
pub(super) struct StartSummary {
    pub(super) address: SocketAddr,
    pub(super) path: PathBuf,
    pub(super) is_new: bool,
    pub(super) local: LocalMember,
    pub(super) models: AvailableModels,
    pub(super) base: String,
    pub(super) documents: Vec<PathBuf>,
}

pub(super) fn documents(config: &Config) -> Vec<PathBuf> {
    let folder = |provider: &SearchProvider| match provider {
        SearchProvider::Index(index) => Some(index.folder.clone()),
        SearchProvider::Remote { .. } => None,
    };
    config.search.providers.iter().filter_map(folder).collect()
}

#[derive(Debug)]
pub(super) struct AvailableModels {
    /// By provider, in configuration order.
    of: Vec<(String, Vec<String>)>,
    /// Providers missing from the configuration.
    added: Vec<String>,
}

impl AvailableModels {
    /// Counts the configured models, and queries providers without a list.
    pub(super) async fn of(config: &Config, found: &[DetectedServer], added: Vec<String>) -> Self {
        let known: BTreeMap<&str, &Vec<String>> =
            found.iter().map(|found| (found.server.name.as_str(), &found.models)).collect();
        // Voices are not chat models.
        let chatting = config.providers.iter().filter(|provider| provider.kind != Kind::Espeak);
        let asked = chatting.map(|provider| async {
            let able =
                provider.models.iter().filter(|it| it.capabilities.contains(&Capability::Chat));
            let mut models: Vec<String> = able.map(|model| model.id.clone()).collect();
            match known.get(provider.name.as_str()) {
                Some(found) => models.extend(found.iter().cloned()),
                None if provider.kind == Kind::Local => {
                    models.extend(files(provider).unwrap_or_default());
                }
                None if provider.discover => {
                    let asked = probe::models(provider).await.ok();
                    models.extend(asked.and_then(|asked| asked.found).unwrap_or_default());
                }
                None => {}
            }
            models.dedup();
            (provider.name.clone(), models)
        });
        Self { of: join_all(asked).await, added }
    }

    fn first(&self) -> Option<String> {
        let (provider, models) = self.of.iter().find(|(_, models)| !models.is_empty())?;
        Some(format!("{provider}/{}", models.first()?))
    }

    fn text(&self) -> String {
        let parts = self.of.iter().map(|(provider, models)| match models.len() {
            0 => format!("none from {provider}"),
            count => format!("{count} from {provider}"),
        });
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }
}

impl StartSummary {
    pub(super) fn report(&self, session: &Session) -> Result {
        let local = &self.local;
        if session.output.is_json() {
            let of: BTreeMap<&String, &Vec<String>> =
                self.models.of.iter().map(|(name, models)| (name, models)).collect();
            return session.output.json_line(&json!({
                "event": "ready",
                "address": self.address.to_string(),
                "base_url": self.base,
                "config": self.path.to_string_lossy(),
                "config_made": self.is_new,
                "member": local.member.name,
                "balance_micros": local.balance.get(),
                "key_id": local.key_id,
                "key_variable": local.variable,
                "env_file": local.env_file,
                "models": of,
                "added_providers": self.models.added,
                "documents": self.documents,
                "mcp_url": self.mcp(),
            }));
        }
        let output = &session.output;
        let url = self.base.trim_end_matches("/v1");
        output.need(format!("{GOOD}Listening on{GOOD:#} {url} (open it in a browser)"));
        let new = if self.is_new { " (new)" } else { "" };
        let (variable, env_file) = (&local.variable, local.env_file.display());
        output.note(format!("\n  Models     {}", self.models.text()));
        output.note(format!("  Member     {}, {}", local.member.name, in_credits(local.balance)));
        output.note(format!("  Key        {variable} in {env_file}"));
        output.note(format!("  OpenAI     {}", self.base));
        output.note(format!("  Anthropic  {url}"));
        output.note(format!("  MCP        {}", self.mcp()));
        for folder in &self.documents {
            output.note(format!("  Documents  {}", folder.display()));
        }
        output.note(format!("  Config     {}{new}", self.path.display()));
        for name in &self.models.added {
            let name = printable(name);
            output.note(format!(
                "\n{name} is not in the configuration; it is used until the service stops."
            ));
        }
        match (self.models.first(), self.commands_to_try(session)) {
            (None, _) => self.report_how_to_add(session),
            (Some(_), Some(commands)) => {
                output
                    .note(format!("\nTry it in another terminal:\n\n  {}", commands.join("\n  ")));
            }
            (Some(_), None) => {}
        }
        output.note("\nPress Ctrl-C to stop.");
        Ok(())
    }

    fn mcp(&self) -> String {
        format!("{}/mcp", self.base.trim_end_matches("/v1"))
    }

    fn report_how_to_add(&self, session: &Session) {
        let output = &session.output;
        output.note(
            "\nNo models yet. Start a model server on this machine (Ollama, llama.cpp, vLLM, LM Studio) \
             and\nrun `agent up` again, or add a provider to the configuration:\n",
        );
        let snippet: String = SNIPPET.lines().flat_map(|line| ["  ", line, "\n"]).collect();
        output.note(format!("  providers:\n{snippet}"));
        output.note(format!("and its key to {}:\n", self.local.env_file.display()));
        output.note("  OPENAI_API_KEY=…");
        let way = how_to_fetch();
        if !way.is_empty() {
            output.note(format!("\nOr run a small model in the service: {way}"));
        }
    }

    /// Commands to try next; `None` if `.env` must be edited first.
    fn commands_to_try(&self, session: &Session) -> Option<[String; 3]> {
        let program = self.program(session)?;
        let model = quoted(&self.models.first()?);
        Some([
            format!("{program} chat --model {model}"),
            format!("{program} run --model {model} \"Say hello\""),
            format!("{program} me"),
        ])
    }

    /// This program with the variables for this service; `None` if `.env` points elsewhere.
    fn program(&self, session: &Session) -> Option<String> {
        let settings = Settings::load(session).ok()?;
        let in_file = format!("{BASE_URL} of {}", self.local.env_file.display());
        let is_here = settings.base_url.value == self.base;
        // Values in the file take precedence over the environment.
        if self.local.variable != API_KEY || (!is_here && settings.base_url.place == in_file) {
            return None;
        }
        let mut words = Vec::new();
        if let Some(home) = &session.environment.agent_home {
            words.push(format!("AGENT_HOME={}", quoted(&home.display().to_string())));
        }
        if !is_here {
            words.push(format!("{BASE_URL}={}", self.base));
        }
        words.push(program());
        words.extend(session.profile().map(|name| format!("--profile {name}")));
        Some(words.join(" "))
    }
}

fn program() -> String {
    const NAME: &str = "agent";
    let Ok(this) = env::current_exe() else { return NAME.to_owned() };
    let is_this = |path: &PathBuf| {
        path.canonicalize().is_ok_and(|path| Some(path) == this.canonicalize().ok())
    };
    let found = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .map(|folder| folder.join(NAME))
        .find(|path| path.is_file());
    if found.as_ref().is_some_and(is_this) {
        NAME.to_owned()
    } else {
        quoted(&this.display().to_string())
    }
}

#[cfg(test)]
mod tests;
