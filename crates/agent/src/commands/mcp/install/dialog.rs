//! What a person sees before saying yes: all of it, in letters that are what they look like.

use std::collections::BTreeSet;

use mcp_client::config::{Endpoint, Scope, StdioEndpoint, Text};
use serde_json::{Value as Json, json};
use task_loop::untrusted::{excerpt, without_blanks};

use super::super::candidate::Candidate;
use super::dangers::{self, host};
use crate::config::servers::ServersFile;
use crate::diagnostic::Diagnostic;
use crate::output::WARNING;
use crate::prompt::Prompt;
use crate::session::Session;

const MAX_TEXT_ROWS: usize = 4;
const MAX_COMMAND_ROWS: usize = 10;

pub(super) fn text(candidate: &Candidate, scope: &Scope) -> String {
    let end = match &candidate.configured.entry.endpoint {
        Endpoint::Stdio(_) => "\nInstall it only if you trust the source of the link.",
        Endpoint::Http(_) => "",
    };
    format!("This link installs an MCP server.\n\n{}{end}", entry(candidate, scope))
}

/// The name, the whole entry, what is odd about it, and what it starts or connects to.
pub(in crate::commands::mcp) fn entry(candidate: &Candidate, scope: &Scope) -> String {
    let entry = serde_json::to_string_pretty(&candidate.entry).unwrap_or_default();
    let entry = without_blanks(&plain(&entry)).replace('\n', "\n    ");
    let mut text = format!("  name: {}\n  config:\n    {entry}\n\n", candidate.name);
    for note in &candidate.notes {
        text.push_str(&format!("{WARNING}note:{WARNING:#} {}\n", short(&line(note))));
    }
    for caution in dangers::cautions(&candidate.configured.entry.endpoint) {
        text.push_str(&format!("{WARNING}Caution:{WARNING:#} {}\n", short(&line(&caution))));
    }
    let variables = variables(&candidate.entry, scope);
    if !variables.is_empty() {
        text.push_str(&format!(
            "{WARNING}Caution:{WARNING:#} it receives the values of your variables: {}\n",
            short(&variables.iter().map(|name| line(name)).collect::<Vec<_>>().join(", "))
        ));
    }
    // Last and bounded, so that it is above the question however long the entry is, which is shown
    // in full further up.
    text.push_str(&match &candidate.configured.entry.endpoint {
        Endpoint::Stdio(endpoint) => format!(
            "{WARNING}Caution:{WARNING:#} this starts a program on this machine with your \
             permissions:\n  {}",
            command_line(endpoint)
        ),
        Endpoint::Http(endpoint) => {
            format!(
                "The arguments of its tools are sent to {}.",
                short(&line(host(endpoint.url.shown())))
            )
        }
    });
    text
}

/// The same for a program that shows it.
pub(in crate::commands::mcp) fn preview(
    candidates: &[Candidate],
    scope: &Scope,
    file: &ServersFile,
) -> Json {
    let servers = candidates.iter().map(|candidate| {
        let endpoint = &candidate.configured.entry.endpoint;
        let mut cautions = dangers::cautions(endpoint);
        let variables = variables(&candidate.entry, scope);
        if !variables.is_empty() {
            let names: Vec<&str> = variables.iter().map(String::as_str).collect();
            cautions
                .push(format!("it receives the values of your variables: {}", names.join(", ")));
        }
        let entry = serde_json::to_string_pretty(&candidate.entry).unwrap_or_default();
        let (command, host) = match endpoint {
            Endpoint::Stdio(stdio) => (Some(command_line(stdio)), None),
            Endpoint::Http(http) => (None, Some(line(host(http.url.shown())))),
        };
        json!({
            "name": candidate.name,
            "config": without_blanks(&plain(&entry)),
            "command": command,
            "host": host,
            "notes": candidate.notes.iter().map(|note| line(note)).collect::<Vec<_>>(),
            "cautions": cautions.iter().map(|caution| line(caution)).collect::<Vec<_>>(),
            "is_taken": file.entry(&candidate.name).is_some(),
        })
    });
    json!({ "servers": servers.collect::<Vec<_>>() })
}

/// Shows the dialog and asks. `--yes` is the confirmation of who cannot or need not be asked.
pub(in crate::commands::mcp) fn confirmed(
    session: &Session,
    dialog: String,
    question: &str,
    yes: bool,
) -> Result<bool, Diagnostic> {
    if let Some(prompt) = Prompt::find(&session.output).filter(|_| !yes) {
        // Part of the question: who asks for quiet still has to see what is asked.
        return prompt.confirm(&format!("{dialog}\n{question}"));
    }
    if !session.output.is_json() {
        session.output.note(dialog);
    }
    if yes {
        return Ok(true);
    }
    Err(Diagnostic::failed(
        "the installation needs confirmation, but no terminal is attached; nothing was installed",
    )
    .hint("review the configuration, then confirm with `--yes`"))
}

/// An error about an entry, with nothing in it that could drive the terminal.
pub(in crate::commands::mcp) fn harmless(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.message = diagnostic.message.map(|message| line(&message));
    diagnostic.causes = diagnostic.causes.iter().map(|cause| line(cause)).collect();
    diagnostic
}

/// The variables of this person that the entry refers to and that are set.
fn variables(value: &Json, scope: &Scope) -> BTreeSet<String> {
    match value {
        Json::String(text) => {
            let names = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
            let names = names.map(|(name, _)| name.split(":-").next().unwrap_or_default().trim());
            let names = names.map(|name| name.strip_prefix("env:").map_or(name, str::trim));
            let is_set = |name: &&str| {
                scope.secrets.contains_key(*name) || scope.process.contains_key(*name)
            };
            names.filter(is_set).map(str::to_owned).collect()
        }
        Json::Array(items) => items.iter().flat_map(|item| variables(item, scope)).collect(),
        Json::Object(entries) => {
            entries.values().flat_map(|value| variables(value, scope)).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The beginning and the end of a text on one line.
pub(in crate::commands::mcp) fn short(text: &str) -> String {
    excerpt(text, MAX_TEXT_ROWS).text
}

/// The command with its words quoted; of a very long command the
/// beginning and the end.
pub(crate) fn command_line(endpoint: &StdioEndpoint) -> String {
    let words = std::iter::once(&endpoint.command).chain(&endpoint.args);
    let words: Vec<String> = words.map(Text::written).map(word).collect();
    excerpt(&words.join(" "), MAX_COMMAND_ROWS).text
}

fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,~-${}".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    plain(&Json::from(text).to_string())
}

/// Escapes everything but ASCII. All else could look like other letters, hide
/// words, change their order or drive the terminal, and is written as JSON escapes it.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, ' '..='~' | '\n') {
            shown.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    }
    shown
}

pub(crate) fn line(text: &str) -> String {
    plain(text).replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
