//! The `gateway.yaml` that the first start makes, and a folder of documents to be searched. They are
//! a person's from then on.

use std::fs;
use std::path::Path;

use gateway::config::DEFAULT_LISTEN;

use super::embedded;
use super::local_servers::DetectedServer;
use crate::config;
use crate::diagnostic::Diagnostic;

/// Example of a provider, in comments of the file.
pub(super) const SNIPPET: &str = "  openai:
    kind: openai
    api_key: ${OPENAI_API_KEY}
    models: [gpt-5-mini]
";

/// The folder whose files can be searched, beside the file.
const DOCUMENTS: &str = "documents";

/// The initial content of the folder.
const WELCOME: (&str, &str) = (
    "Welcome.md",
    "\
# Welcome to your documents

Text, Markdown, HTML and PDF files in this folder can be searched through the member service: with
`POST /v1/search`, with the tool `web_search` at `/mcp`, and by research jobs, which cite them. Put files
here, in folders if you like; changes are noticed within a minute. This file can be removed.

A page that a search found is read with `POST /v1/web/fetch` at the address that the search gave.
",
);

/// Writes the file unless it exists; returns whether it was written.
pub(super) fn write_if_missing(
    path: &Path,
    found: &[DetectedServer],
    can_speak: bool,
) -> Result<bool, Diagnostic> {
    let _lock = config::lock::take(path)?;
    if config::read(path)?.is_some() {
        return Ok(false);
    }
    make_documents(path)?;
    config::write(path, &text(found, can_speak))?;
    Ok(true)
}

fn make_documents(path: &Path) -> Result<(), Diagnostic> {
    let folder = path.with_file_name(DOCUMENTS);
    let (name, text) = WELCOME;
    let made = fs::create_dir_all(&folder).and_then(|()| {
        let is_empty = fs::read_dir(&folder)?.next().is_none();
        if is_empty { fs::write(folder.join(name), text) } else { Ok(()) }
    });
    made.map_err(|error| {
        Diagnostic::failed(format!("cannot make {}", folder.display())).because(&error)
    })
}

fn text(found: &[DetectedServer], can_speak: bool) -> String {
    let mut providers = String::new();
    for DetectedServer { server, .. } in found {
        let (name, url) = (&server.name, &server.base_url);
        providers.push_str(&format!(
            "  {name}:\n    kind: openai\n    base_url: {url}\n    discover: true\n"
        ));
    }
    let snippet = marked();
    let own = own_models(found);
    let mark = if can_speak { "" } else { "# " };
    format!(
        "\
# The member service of this machine, made by `agent up`. Edit it as you like: it is not written again.
# `agent gateway example` shows more of what can be said, docs/gateway-config.md all of it.
# Secrets stand in variables: `${{NAME}}` is looked up in the profile's .env and in the environment.

listen: {DEFAULT_LISTEN}
database: sqlite:gateway.sqlite3

# Where models are.
providers:
{providers}{own}{snippet}
  # Files in this folder can be searched. Providers of web searches can stand beside it:
  # see `agent gateway example`.
  {DOCUMENTS}: {{kind: index, folder: {DOCUMENTS}}}

  # Speech by the program espeak-ng, where it is installed; its models are voices.
  {mark}voice: {{kind: espeak, models: [en, de, es, fr]}}

# Whole micro-credits for one request; 1 credit is 1000000.
prices:
  default_micros:
    chat: 1000
    responses: 1000
    search: 1000
    fetch: 1000
    media: 1000
    research: 10000

# What `agent gateway downloads publish` puts here, everybody may download.
downloads:
  folder: downloads

log:
  format: text
  level: info
"
    )
}

/// The provider that is this process; a comment where others answer.
fn own_models(found: &[DetectedServer]) -> String {
    if !embedded::IS_HERE {
        return String::new();
    }
    let mark = if found.is_empty() { "" } else { "# " };
    format!(
        "  # GGUF files in this folder, which the service computes itself: see `agent model list`.\n  \
         {mark}local: {{kind: local, folder: ../models, discover: true}}\n"
    )
}

/// The provider that is shown, as a comment.
fn marked() -> String {
    let lines = SNIPPET.lines().filter_map(|line| line.strip_prefix("  "));
    lines.flat_map(|line| ["  # ", line, "\n"]).collect()
}

#[cfg(test)]
mod tests;
