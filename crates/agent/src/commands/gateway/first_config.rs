//! The first `gateway.yaml` of `agent up` and `agent gateway init`, and its documents folder.

use std::fs;
use std::path::Path;

use askama::Template;
use gateway::config::DEFAULT_LISTEN;

use super::local_servers::DetectedServer;
use crate::config;
use crate::diagnostic::{Diagnostic, Result};
use crate::home::unwritable;

pub(crate) const SNIPPET: &str = "  openai:
    kind: openai
    api_key: ${OPENAI_API_KEY}
    models: [gpt-5-mini]
";

/// The folder of searchable files, next to the file.
const DOCUMENTS: &str = "documents";

const MODELS: &str = "../models";

const HAS_LOCAL_MODELS: bool = cfg!(feature = "local-model");

const WELCOME: (&str, &str) = (
    "Welcome.md",
    "\
# Your documents

The member service searches the text, Markdown, HTML and PDF files in this folder and its subfolders:
`POST /v1/search`, the tool `web_search` at `/mcp`, and research jobs, which cite them. Changes are
picked up within a minute. Delete this file once you have added your own.
",
);

#[derive(Debug, Template)]
#[template(path = "gateway.yaml", escape = "none")]
pub(crate) struct FirstConfig<'a> {
    pub(crate) servers: &'a [DetectedServer],
    pub(crate) hosted: &'a [String],
    /// Whether `espeak-ng` is installed.
    pub(crate) can_speak: bool,
    pub(crate) listen: &'a str,
    pub(crate) public_url: Option<&'a str>,
    pub(crate) database: &'a str,
    /// The name of the variable with the admin token.
    pub(crate) admin_token: Option<&'a str>,
    pub(crate) log_level: &'a str,
}

/// The providers that `agent gateway init` can add.
pub(super) const HOSTED_PROVIDERS: [&str; 2] = ["openai", "anthropic"];

/// The variable with the API key of a provider.
pub(super) fn key_variable(provider: &str) -> String {
    format!("{}_API_KEY", provider.to_ascii_uppercase())
}

impl<'a> FirstConfig<'a> {
    pub(crate) fn local(servers: &'a [DetectedServer], can_speak: bool) -> Self {
        let (public_url, admin_token, hosted) = (None, None, &[]);
        let (listen, database) = (DEFAULT_LISTEN, "sqlite:gateway.sqlite3");
        let log_level = "warn";
        Self { servers, hosted, can_speak, listen, public_url, database, admin_token, log_level }
    }
}

/// Writes the file unless it exists; returns whether it was written.
pub(crate) fn write_if_missing(path: &Path, content: &FirstConfig<'_>) -> Result<bool> {
    let _lock = config::lock::take(path)?;
    if config::read(path)?.is_some() {
        return Ok(false);
    }
    make_folders(path)?;
    config::write(path, &content.render().unwrap_or_default())?;
    Ok(true)
}

fn make_folders(path: &Path) -> Result {
    let folder = path.with_file_name(DOCUMENTS);
    let (name, text) = WELCOME;
    let made = fs::create_dir_all(&folder).and_then(|()| {
        let is_empty = fs::read_dir(&folder)?.next().is_none();
        if is_empty {
            fs::write(folder.join(name), text)?;
        }
        fs::create_dir_all(folder.with_file_name(MODELS))
    });
    made.map_err(|error| {
        unwritable(Diagnostic::failed(format!("cannot create {}", folder.display())), &error)
    })
}

/// A text in quotes, so that it may contain any characters.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The example provider, as a comment.
fn marked() -> String {
    let lines = SNIPPET.lines().filter_map(|line| line.strip_prefix("  "));
    lines.flat_map(|line| ["  # ", line, "\n"]).collect()
}

#[cfg(test)]
mod tests;
