//! A server that may be added: checked before the confirmation, shown without its secrets, and
//! saved with them in the profile's `.env`.

use std::path::PathBuf;

use mcp_client::config::{
    Configured, Endpoint, Problem, Scope, Text, danger, parse_entry, valid_name,
};
use mcp_client::redact::Redactor;
use mcp_client::tool_name::registered_name;
use serde_json::{Value as Json, json};
use task_loop::untrusted::printable;

use super::secrets::{self, MovedSecret};
use crate::config::lock;
use crate::config::secrets::SecretsFile;
use crate::config::servers::{self, ServersFile};
use crate::diagnostic::{Diagnostic, Result};
use crate::download::OnConflict;
use crate::mcp::advice::sign_in::login;
use crate::mcp::{is_alone, oauth};
use crate::session::Session;

#[derive(Debug)]
pub(crate) struct Candidate {
    pub(super) name: String,
    pub(super) entry: Json,
    /// The parsed entry.
    pub(super) configured: Configured,
    pub(super) notes: Vec<String>,
    /// Secrets that the entry refers to, stored with it.
    pub(super) secrets: Vec<NewSecret>,
}

#[derive(Debug)]
pub(super) struct NewSecret {
    pub(super) place: MovedSecret,
    pub(super) value: String,
}

/// How literal secrets are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretHandling {
    /// They are moved to the profile's `.env`, and the entry refers to them.
    Move,
    Keep,
}

#[derive(Debug)]
pub(super) struct SavedServers {
    pub(super) file: PathBuf,
    /// The place where secrets are stored.
    pub(super) secrets: String,
    pub(super) replaced: Vec<String>,
    pub(super) moved: Vec<MovedSecret>,
    pub(super) notes: Vec<String>,
}

impl SavedServers {
    /// What was saved, and where.
    pub(super) fn json(&self, done: &str, servers: &Json) -> Json {
        json!({
            done: servers,
            "file": self.file.to_string_lossy(),
            "env_file": self.secrets,
            "moved_secrets": self.moved,
            "notes": self.notes,
        })
    }
}

impl Candidate {
    pub(super) fn check(
        name: &str,
        entry: Json,
        mut notes: Vec<String>,
        scope: &Scope,
    ) -> Result<Self> {
        if !valid_name(name) {
            return Err(invalid_name(name));
        }
        let (configured, warnings) = parse_entry(name, &entry, scope).map_err(|problems| {
            Diagnostic::configuration(format!("invalid configuration of server `{name}`"))
                .hint("see `agent mcp reference` for all keys")
                .causes(problems.iter().map(Problem::to_string))
        })?;
        if let Endpoint::Stdio(endpoint) = &configured.entry.endpoint
            && let Some(suspicion) = danger::suspicion(endpoint)
        {
            let message = format!("server `{name}` looks malicious and was not added");
            return Err(Diagnostic::failed(message)
                .hint("use the program itself as the command, without a shell around it")
                .cause(suspicion.to_string()));
        }
        if is_alone(&configured.entry) {
            notes.push(format!("{name}: it signs in automatically"));
        } else if oauth(&configured.entry).is_some() {
            notes.push(format!("{name}: sign in with {}", login(name)));
        }
        notes.extend(warnings.iter().map(Problem::to_string));
        Ok(Candidate { name: name.to_owned(), entry, configured, notes, secrets: Vec::new() })
    }

    pub(super) fn note_twins<'n>(&mut self, others: impl Iterator<Item = &'n str>) {
        let prefix = registered_name(&self.name, "");
        for other in others.filter(|other| *other != self.name) {
            if registered_name(other, "") == prefix {
                self.notes.push(format!(
                    "{}: its tools have the prefix `{prefix}…`, like those of `{other}`; choose \
                     another name to tell them apart",
                    self.name
                ));
            }
        }
    }

    pub(super) fn runs(&self) -> bool {
        matches!(self.configured.entry.endpoint, Endpoint::Stdio(_))
    }

    pub(super) fn kind(&self) -> &'static str {
        if self.runs() { "stdio" } else { "http" }
    }

    /// The command or URL, without secrets.
    pub(super) fn shown(&self) -> String {
        let names = |pairs: &[(String, Text)]| {
            pairs.iter().map(|(name, _)| printable(name)).collect::<Vec<_>>().join(", ")
        };
        let (line, rest) = match &self.configured.entry.endpoint {
            Endpoint::Stdio(endpoint) => {
                let words = std::iter::once(&endpoint.command).chain(&endpoint.args);
                let line = words.map(quoted_word).collect::<Vec<_>>().join(" ");
                (line, (" (with the variables ", names(&endpoint.env)))
            }
            Endpoint::Http(endpoint) => {
                (printable(endpoint.url.shown()), (" (with the headers ", names(&endpoint.headers)))
            }
        };
        let line = Redactor::default().redact(&line).into_owned();
        match rest {
            (_, names) if names.is_empty() => line,
            (words, names) => format!("{line}{words}{names})"),
        }
    }
}

fn quoted_word(text: &Text) -> String {
    let shown = text.shown();
    let is_one_word = !shown.is_empty() && !shown.contains([' ', '\t', '\n', '"', '\'']);
    if is_one_word { printable(shown) } else { printable(&Json::from(shown).to_string()) }
}

/// Saves candidates under the lock: all or none.
pub(super) fn save(
    session: &Session,
    candidates: &[Candidate],
    literals: SecretHandling,
    taken: OnConflict,
) -> Result<SavedServers> {
    let home = session.home()?;
    let config = home.config();
    let _lock = lock::take(&config)?;
    let mut file = ServersFile::load(&config)?;
    let mut secrets = SecretsFile::load(session)?;
    let (mut replaced, mut moved, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for Candidate { name, entry, secrets: new, .. } in candidates {
        if file.entry(name).is_some() {
            if taken == OnConflict::Keep {
                return Err(name_is_taken(name));
            }
            replaced.push(name.clone());
        }
        let mut entry = entry.clone();
        if literals == SecretHandling::Move {
            moved.extend(secrets::move_secrets(name, &mut entry, &mut secrets)?);
            notes.extend(secrets::left_over(name, &entry));
        }
        for NewSecret { place, value } in new {
            if secrets.add(&place.variable, value)? != place.variable {
                let message = "the profile's secrets changed meanwhile; try again";
                return Err(Diagnostic::failed(message));
            }
            moved.push(place.clone());
        }
        file.set(name, &entry).map_err(|diagnostic| match literals {
            SecretHandling::Move => diagnostic.hint(format!(
                "add this under `mcp_servers:` yourself:\n{}",
                servers::shown(name, &entry)
            )),
            SecretHandling::Keep => diagnostic.hint("edit the file yourself"),
        })?;
    }
    secrets.write()?;
    file.write()?;
    if !moved.is_empty() && secrets.is_open_to_others() {
        let path = secrets.location();
        notes.push(format!("other users can read {path}; protect it with `chmod 600 {path}`"));
    }
    let secrets = secrets.location();
    Ok(SavedServers { file: config, secrets, replaced, moved, notes })
}

pub(super) fn invalid_name(name: &str) -> Diagnostic {
    Diagnostic::configuration(format!("invalid server name `{}`", printable(name)))
        .hint("use 1 to 64 letters, digits, dots, underscores and hyphens")
}

pub(super) fn name_is_taken(name: &str) -> Diagnostic {
    Diagnostic::failed(format!("server `{name}` exists already; nothing was changed"))
        .hint("choose another name, or replace the server with `--replace`")
}
