//! The first `gateway.yaml` of `agent up` and `agent gateway init`, and a folder of documents to search.

use std::fs;
use std::path::Path;

use gateway::config::DEFAULT_LISTEN;

use super::local_servers::DetectedServer;
use crate::config;
use crate::diagnostic::Diagnostic;
use crate::home::unwritable;

pub(in crate::commands) const SNIPPET: &str = "  openai:
    kind: openai
    api_key: ${OPENAI_API_KEY}
    models: [gpt-5-mini]
";

/// The folder whose files can be searched, beside the file.
const DOCUMENTS: &str = "documents";

const MODELS: &str = "../models";

const WELCOME: (&str, &str) = (
    "Welcome.md",
    "\
# Your documents

The member service searches the text, Markdown, HTML and PDF files in this folder and its subfolders:
`POST /v1/search`, the tool `web_search` at `/mcp`, and research jobs, which cite them. Changes are
picked up within a minute. Delete this file once you have added your own.
",
);

#[derive(Debug)]
pub(in crate::commands) struct FirstConfig<'a> {
    pub(in crate::commands) servers: &'a [DetectedServer],
    pub(in crate::commands) hosted: &'a [HostedProvider],
    /// Whether `espeak-ng` is installed.
    pub(in crate::commands) can_speak: bool,
    pub(in crate::commands) listen: &'a str,
    pub(in crate::commands) public_url: Option<&'a str>,
    pub(in crate::commands) database: &'a str,
    /// The variable with the admin token.
    pub(in crate::commands) admin_token: Option<&'a str>,
    pub(in crate::commands) log_level: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::commands) enum HostedProvider {
    Openai,
    Anthropic,
}

impl HostedProvider {
    pub(in crate::commands) const ALL: [Self; 2] = [Self::Openai, Self::Anthropic];

    pub(in crate::commands) fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    pub(in crate::commands) fn variable(self) -> &'static str {
        match self {
            Self::Openai => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }
}

impl<'a> FirstConfig<'a> {
    pub(in crate::commands) fn local(servers: &'a [DetectedServer], can_speak: bool) -> Self {
        let (public_url, admin_token, hosted) = (None, None, &[]);
        let (listen, database) = (DEFAULT_LISTEN, "sqlite:gateway.sqlite3");
        let log_level = "warn";
        Self { servers, hosted, can_speak, listen, public_url, database, admin_token, log_level }
    }
}

/// Writes the file unless it exists; returns whether it was written.
pub(in crate::commands) fn write_if_missing(
    path: &Path,
    content: &FirstConfig<'_>,
) -> Result<bool, Diagnostic> {
    let _lock = config::lock::take(path)?;
    if config::read(path)?.is_some() {
        return Ok(false);
    }
    make_folders(path)?;
    config::write(path, &text(content))?;
    Ok(true)
}

fn make_folders(path: &Path) -> Result<(), Diagnostic> {
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

fn text(content: &FirstConfig<'_>) -> String {
    let mut providers = String::new();
    for DetectedServer { server, .. } in content.servers {
        let (name, url) = (&server.name, &server.base_url);
        providers.push_str(&format!(
            "  {name}:\n    kind: openai\n    base_url: {url}\n    discover: true\n"
        ));
    }
    for hosted in content.hosted {
        let (name, variable) = (hosted.name(), hosted.variable());
        providers.push_str(&format!(
            "  {name}:\n    kind: {name}\n    api_key: ${{{variable}}}\n    discover: true\n"
        ));
    }
    let snippet = if content.hosted.is_empty() { marked() } else { String::new() };
    let own = own_models(content);
    let mark = if content.can_speak { "" } else { "# " };
    let FirstConfig { listen, database, log_level, .. } = content;
    let public_url = content
        .public_url
        .map_or_else(String::new, |url| format!("public_url: {}\n", serde_json::Value::from(url)));
    let database = serde_json::Value::from(*database);
    let admin_token = content.admin_token.map_or_else(String::new, |variable| {
        format!(
            "# Signs operators in to the console and the admin API.\nadmin_token: ${{{variable}}}\n"
        )
    });
    format!(
        "\
# Configuration of the member service. Edit it freely: the program does not overwrite it.
# Reference: docs/gateway-config.md. More examples: `agent gateway example`.
# `${{NAME}}` refers to a variable in the profile's .env or in the environment.

listen: {listen}
{public_url}database: {database}
{admin_token}
# Model and search providers.
providers:
{providers}{own}{snippet}
  # Documents in this folder are searched. See `agent gateway example` for web search providers.
  {DOCUMENTS}: {{kind: index, folder: {DOCUMENTS}}}

  # Speech by espeak-ng, if it is installed; its models are voices.
  {mark}voice: {{kind: espeak, models: [en, de, es, fr]}}

# Prices of one request in micro-credits; 1 credit is 1000000.
prices:
  default_micros:
    chat: 1000
    responses: 1000
    search: 1000
    fetch: 1000
    media: 1000
    research: 10000

# Files of `agent gateway downloads publish`, public.
downloads:
  folder: downloads

# `info` logs every request.
log:
  format: text
  level: {log_level}
"
    )
}

/// The provider that is this process; a comment if there are others.
fn own_models(content: &FirstConfig<'_>) -> String {
    if !cfg!(feature = "local-model") {
        return String::new();
    }
    let is_alone = content.servers.is_empty() && content.hosted.is_empty();
    let mark = if is_alone { "" } else { "# " };
    format!(
        "  # GGUF files in this folder, which the service runs itself: see `agent models local`.\n  \
         {mark}local: {{kind: local, folder: {MODELS}, discover: true}}\n"
    )
}

/// The provider that is shown, as a comment.
fn marked() -> String {
    let lines = SNIPPET.lines().filter_map(|line| line.strip_prefix("  "));
    lines.flat_map(|line| ["  # ", line, "\n"]).collect()
}

#[cfg(test)]
mod tests;
