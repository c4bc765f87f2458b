//! The confirmation dialog: shows everything, in unambiguous characters.

use std::collections::BTreeSet;

use mcp_client::config::{Endpoint, Scope, StdioEndpoint, Text};
use serde_json::{Value as Json, json};
use settings::Origin;
use task_loop::untrusted::{excerpt, without_blanks};

use super::super::candidate::Candidate;
use super::super::link::strings;
use super::dangers;
use crate::config::servers::ServersFile;
use crate::diagnostic::{Diagnostic, Result};
use crate::host::host;
use crate::output::WARNING;
use crate::prompt::Prompt;
use crate::session::Session;

const MAX_TEXT_ROWS: usize = 4;
const MAX_COMMAND_ROWS: usize = 10;

/// The texts of a dialog about a server from an untrusted source.
pub(crate) struct Offer<'a> {
    pub(crate) heading: &'a str,
    /// The text after the description of a local server.
    pub(crate) advice: &'a str,
    pub(crate) question: &'a str,
    pub(crate) declined: &'a str,
}

impl Offer<'_> {
    /// Shows the server and asks. `--yes` confirms without a question.
    pub(crate) fn is_accepted(
        &self,
        server: &Candidate,
        scope: &Scope,
        yes: bool,
        session: &Session,
    ) -> Result<bool> {
        let advice = if server.runs() { self.advice } else { "" };
        let dialog = format!("{}\n\n{}{advice}", self.heading, entry(server, scope));
        if let Some(prompt) = Prompt::find(&session.output).filter(|_| !yes) {
            // Part of the question: `--quiet` must not hide it.
            let is_yes = prompt.confirm(&format!("{dialog}\n{}", self.question))?;
            if !is_yes {
                session.output.note(self.declined);
            }
            return Ok(is_yes);
        }
        if !session.output.is_json() {
            session.output.note(dialog);
        }
        if yes {
            return Ok(true);
        }
        let message = "the installation needs confirmation, but no terminal is attached; nothing \
                       was installed";
        Err(Diagnostic::failed(message).hint("review the configuration, then confirm with `--yes`"))
    }
}

/// Checks an untrusted entry. Errors contain no terminal control characters.
pub(crate) fn checked(
    name: &str,
    entry: Json,
    notes: Vec<String>,
    scope: &Scope,
    file: &ServersFile,
) -> Result<Candidate> {
    let mut candidate =
        Candidate::check(name, entry, notes, scope).map_err(|diagnostic| Diagnostic {
            message: diagnostic.message.map(|message| line(&message)),
            causes: diagnostic.causes.iter().map(|cause| line(cause)).collect(),
            ..diagnostic
        })?;
    candidate.note_twins(file.names());
    Ok(candidate)
}

/// The name, the whole entry, its cautions, and its command or URL.
pub(crate) fn entry(candidate: &Candidate, scope: &Scope) -> String {
    let entry = serde_json::to_string_pretty(&candidate.entry).unwrap_or_default();
    let entry = without_blanks(&plain(&entry)).replace('\n', "\n    ");
    let mut text = format!("  name: {}\n  config:\n    {entry}\n\n", candidate.name);
    for note in &candidate.notes {
        text.push_str(&format!("{WARNING}note:{WARNING:#} {}\n", short(note)));
    }
    for caution in cautions(candidate, scope) {
        text.push_str(&format!("{WARNING}Caution:{WARNING:#} {}\n", short(&caution)));
    }
    // Last and bounded, so that it is above the question even if the entry, shown in full above
    // it, is long.
    text.push_str(&match &candidate.configured.entry.endpoint {
        Endpoint::Stdio(endpoint) => format!(
            "{WARNING}Caution:{WARNING:#} this starts a program on this machine with your \
             permissions:\n  {}",
            command_line(endpoint)
        ),
        Endpoint::Http(endpoint) => {
            let host = short(host(endpoint.url.shown()));
            format!("The arguments of its tools are sent to {host}.")
        }
    });
    text
}

/// The same as JSON.
pub(crate) fn preview(candidates: &[Candidate], scope: &Scope, file: &ServersFile) -> Json {
    let servers = candidates.iter().map(|candidate| {
        let entry = serde_json::to_string_pretty(&candidate.entry).unwrap_or_default();
        let (command, host) = match &candidate.configured.entry.endpoint {
            Endpoint::Stdio(stdio) => (Some(command_line(stdio)), None),
            Endpoint::Http(http) => (None, Some(line(host(http.url.shown())))),
        };
        json!({
            "name": candidate.name,
            "config": without_blanks(&plain(&entry)),
            "command": command,
            "host": host,
            "notes": candidate.notes.iter().map(|note| line(note)).collect::<Vec<_>>(),
            "cautions": cautions(candidate, scope).iter().map(|it| line(it)).collect::<Vec<_>>(),
            "is_taken": file.entry(&candidate.name).is_some(),
        })
    });
    json!({ "servers": servers.collect::<Vec<_>>() })
}

/// The cautions of the entry, and the variables of this person that it gets.
fn cautions(candidate: &Candidate, scope: &Scope) -> Vec<String> {
    let mut cautions = dangers::cautions(&candidate.configured.entry.endpoint);
    let references = strings(&candidate.entry).into_iter().flat_map(|text| scope.resolve(text).1);
    let set = references.filter(|it| matches!(it.origin, Origin::Secrets | Origin::Process));
    let names: BTreeSet<String> = set.map(|reference| reference.name).collect();
    if !names.is_empty() {
        let names = Vec::from_iter(names).join(", ");
        cautions.push(format!("it receives the values of your variables: {names}"));
    }
    cautions
}

/// An untrusted text on one line, shortened in the middle.
pub(crate) fn short(text: &str) -> String {
    excerpt(&line(text), MAX_TEXT_ROWS).text
}

/// The command with its words quoted; a very long one is shortened in the middle.
pub(crate) fn command_line(endpoint: &StdioEndpoint) -> String {
    let words = std::iter::once(&endpoint.command).chain(&endpoint.args);
    let words: Vec<String> = words.map(Text::written).map(quoted_word).collect();
    excerpt(&words.join(" "), MAX_COMMAND_ROWS).text
}

fn quoted_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,~-${}".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    plain(&Json::from(text).to_string())
}

/// Escapes everything but ASCII as JSON does. Other characters could imitate letters, hide
/// text, change its order or control the terminal.
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
