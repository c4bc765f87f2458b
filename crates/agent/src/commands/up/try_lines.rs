//! Commands to try after the start, ready to paste into a shell.

use std::env;
use std::path::{Path, PathBuf};

use super::summary::StartSummary;
use crate::member::settings::{API_KEY, BASE_URL, Settings};
use crate::session::Session;

impl StartSummary {
    /// What to try next; nothing if `.env` must be edited first.
    pub(super) fn commands_to_try(&self, session: &Session) -> Option<[String; 3]> {
        let program = self.program(session)?;
        let model = quoted(&self.models.first()?);
        Some([
            format!("{program} chat --model {model}"),
            format!("{program} run --model {model} \"Say hello\""),
            format!("{program} me"),
        ])
    }

    /// This program with the variables that lead to this service; nothing if `.env` leads elsewhere.
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
