//! Lines that work when they are pasted into a shell: the program itself, curl, and the `openai`
//! package of Python. They hold no secret.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::summary::StartSummary;
use crate::member::settings::{API_KEY, BASE_URL, Settings};
use crate::session::Session;

/// What the model is asked.
const QUESTION: &str = "Say hello.";

impl StartSummary {
    /// A conversation, if a client of this profile comes to this service.
    pub(super) fn chat_line(&self, model: &str, session: &Session) -> Option<String> {
        Some(format!("{} chat --model {}", self.program(session)?, quoted(model)))
    }

    /// What was used and what it cost, if a client of this profile comes to this service.
    pub(super) fn account_line(&self, session: &Session) -> Option<String> {
        Some(format!("{} me", self.program(session)?))
    }

    pub(super) fn curl_line(&self, model: &str) -> String {
        let body = format!(
            r#"{{"model":{},"messages":[{{"role":"user","content":"{QUESTION}"}}]}}"#,
            literal(model)
        );
        format!(
            "  curl {}/chat/completions \\\n    -H \"Authorization: Bearer {}\" \\\n    \
             -H 'Content-Type: application/json' \\\n    -d '{body}'",
            self.base,
            self.key()
        )
    }

    pub(super) fn python_line(&self, model: &str) -> String {
        let model = literal(model);
        format!(
            "  OPENAI_BASE_URL={} \\\n  OPENAI_API_KEY=\"{}\" \\\n  \
             python3 -c 'from openai import OpenAI; \\\n    \
             [print(part.choices[0].delta.content or \"\", end=\"\", flush=True)\n    \
             for part in OpenAI().chat.completions.create(model={model}, stream=True,\n    \
             messages=[{{\"role\": \"user\", \"content\": \"{QUESTION}\"}}]) if part.choices]; print()'",
            self.base,
            self.key()
        )
    }

    fn key(&self) -> String {
        let (variable, env_file) = (&self.local.variable, &self.local.env_file);
        format!("$(sed -n 's/^{variable}=//p' {})", quoted(&env_file.display().to_string()))
    }

    /// This program with what brings it to this service; nothing if that takes an edit of `.env`.
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
    if found.as_ref().is_some_and(is_this) { NAME.to_owned() } else { quoted_path(&this) }
}

/// A text as JSON and Python take it; in single quotes of a shell a single quote cannot stand.
fn literal(text: &str) -> String {
    json!(text).to_string().replace('\'', "\\u0027")
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:".contains(letter);
    let is_plain = !text.is_empty() && text.chars().all(is_plain);
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests;
