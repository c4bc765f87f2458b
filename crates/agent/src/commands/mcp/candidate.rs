//! A server that may be added: checked before anybody is asked, shown without its secrets, and
//! saved with them in the profile's `.env`.

use std::path::PathBuf;

use mcp_client::config::{
    Configured, Endpoint, Problem, Scope, Text, danger, parse_entry, valid_name,
};
use serde_json::{Map, Value as Json};

use crate::config::lock;
use crate::config::secrets::SecretsFile;
use crate::config::servers::{self, ServersFile};
use crate::diagnostic::Diagnostic;
use crate::output::printable;
use crate::session::Session;

/// How the values of well-known tokens begin; their names do not always tell.
const TOKEN_BEGINNINGS: [&str; 12] = [
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
    "npm_",
    "hf_",
];
/// The shortest value that is taken for a token by its beginning.
const MIN_TOKEN_BYTES: usize = 16;

/// A server that may be added.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The name it gets.
    pub(super) name: String,
    /// Its entry, secrets and all.
    pub(super) entry: Json,
    /// The same, understood.
    pub(super) configured: Configured,
    /// What a person should know about it.
    pub(super) notes: Vec<String>,
}

/// What becomes of secrets that were given literally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Literals {
    /// They go to the profile's `.env`, and the entry refers to them.
    Move,
    /// They stay.
    Keep,
}

/// What becomes of a server that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It stays, and nothing is added.
    Refuse,
    /// It gives way.
    Replace,
}

/// A secret that went to the profile's `.env`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Moved {
    /// The server.
    pub(super) server: String,
    /// The key in its entry.
    pub(super) key: String,
    /// The variable that holds it now.
    pub(super) variable: String,
}

/// What was saved.
#[derive(Debug)]
pub(super) struct Saved {
    /// The configuration.
    pub(super) file: PathBuf,
    /// The profile's secrets.
    pub(super) env_file: PathBuf,
    /// The names that stood there before.
    pub(super) replaced: Vec<String>,
    /// The secrets that were moved.
    pub(super) moved: Vec<Moved>,
}

impl Candidate {
    /// Checks the name, the entry and what would run.
    pub(super) fn check(
        name: &str,
        entry: Json,
        mut notes: Vec<String>,
        scope: &Scope,
    ) -> Result<Self, Diagnostic> {
        if !valid_name(name) {
            let message = format!("`{}` cannot be the name of a server", printable(name));
            return Err(Diagnostic::configuration(message)
                .hint("use 1 to 64 letters, digits, dots, underscores and hyphens"));
        }
        let (configured, warnings) = parse_entry(name, &entry, scope).map_err(|problems| {
            let mut diagnostic = Diagnostic::configuration(format!(
                "server `{name}` cannot be configured like this"
            ))
            .hint("`agent mcp reference` explains every key");
            diagnostic.causes.extend(problems.iter().map(Problem::to_string));
            diagnostic
        })?;
        if let Endpoint::Stdio(endpoint) = &configured.entry.endpoint
            && let Some(suspicion) = danger::suspicion(endpoint)
        {
            let message = format!("server `{name}` looks like an attack and is not added");
            let mut diagnostic = Diagnostic::failed(message)
                .hint("name the program itself as the command, without a shell around it");
            diagnostic.causes.push(suspicion.to_string());
            return Err(diagnostic);
        }
        notes.extend(warnings.iter().map(Problem::to_string));
        notes.extend(clear_secrets(name, &configured));
        Ok(Candidate { name: name.to_owned(), entry, configured, notes })
    }

    /// Whether it starts a process on this machine.
    pub(super) fn runs(&self) -> bool {
        matches!(self.configured.entry.endpoint, Endpoint::Stdio(_))
    }

    /// How it is reached, in a word.
    pub(super) fn kind(&self) -> &'static str {
        if self.runs() { "stdio" } else { "http" }
    }

    /// What would run or be connected to, without secrets.
    pub(super) fn shown(&self) -> String {
        let names = |pairs: &[(String, Text)]| {
            pairs.iter().map(|(name, _)| printable(name)).collect::<Vec<_>>().join(", ")
        };
        let (line, rest) = match &self.configured.entry.endpoint {
            Endpoint::Stdio(endpoint) => {
                let words = std::iter::once(&endpoint.command).chain(&endpoint.args);
                let line = words.map(word).collect::<Vec<_>>().join(" ");
                (line, (" (with the variables ", names(&endpoint.env)))
            }
            Endpoint::Http(endpoint) => {
                (printable(endpoint.url.shown()), (" (with the headers ", names(&endpoint.headers)))
            }
        };
        match rest {
            (_, names) if names.is_empty() => line,
            (words, names) => format!("{line}{words}{names})"),
        }
    }
}

/// A word of a command line as it can be told from its neighbours.
fn word(text: &Text) -> String {
    let shown = text.shown();
    let is_one_word = !shown.is_empty() && !shown.contains([' ', '\t', '\n', '"', '\'']);
    if is_one_word { printable(shown) } else { printable(&Json::from(shown).to_string()) }
}

/// Secrets in places from which they are not moved.
fn clear_secrets(name: &str, configured: &Configured) -> Option<String> {
    let holds = |text: &Text| text.shown() != text.written();
    let place = match &configured.entry.endpoint {
        Endpoint::Stdio(endpoint) if endpoint.args.iter().any(holds) => "args",
        Endpoint::Http(endpoint) if holds(&endpoint.url) => "url",
        _ => return None,
    };
    Some(format!(
        "{name}: {place}: a secret stands there in clear; put it into `.env` and write `${{NAME}}`"
    ))
}

/// Saves candidates under the lock: all of them, or none.
pub(super) fn save(
    session: &Session,
    candidates: &[Candidate],
    literals: Literals,
    taken: Taken,
) -> Result<Saved, Diagnostic> {
    let home = session.home()?;
    let (config, env_file) = (home.config(), home.env_file());
    let _lock = lock::take(&config)?;
    let mut file = ServersFile::load(&config)?;
    let mut secrets = SecretsFile::load(&env_file)?;
    let (mut replaced, mut moved) = (Vec::new(), Vec::new());
    for Candidate { name, entry, .. } in candidates {
        if file.entry(name).is_some() {
            if taken == Taken::Refuse {
                return Err(name_is_taken(name));
            }
            replaced.push(name.clone());
        }
        let mut entry = entry.clone();
        if literals == Literals::Move {
            moved.extend(move_secrets(name, &mut entry, &mut secrets)?);
        }
        file.set(name, &entry).map_err(|diagnostic| match literals {
            Literals::Move => diagnostic.hint(format!(
                "write this under `mcp_servers:` yourself:\n{}",
                servers::shown(name, &entry)
            )),
            Literals::Keep => diagnostic.hint("edit the file yourself"),
        })?;
    }
    secrets.write()?;
    file.write()?;
    Ok(Saved { file: config, env_file, replaced, moved })
}

/// The error of a name that another server has.
pub(super) fn name_is_taken(name: &str) -> Diagnostic {
    Diagnostic::failed(format!("there is a server `{name}` already; nothing was changed"))
        .hint("choose another name, or overwrite it with `--replace`")
}

/// Moves literal secrets of an entry to the profile's secrets, and refers to them.
pub(super) fn move_secrets(
    name: &str,
    entry: &mut Json,
    secrets: &mut SecretsFile,
) -> Result<Vec<Moved>, Diagnostic> {
    // Read without variables: what is known as a secret then was given literally.
    let Ok((configured, _)) = parse_entry(name, entry, &Scope::default()) else {
        return Ok(Vec::new());
    };
    let known: Vec<&str> = configured.secrets.iter().map(|secret| secret.value()).collect();
    let mut moved = Vec::new();
    for section in ["env", "headers", "oauth"] {
        let values = entry.get_mut(section).and_then(Json::as_object_mut);
        for (key, value) in values.into_iter().flat_map(Map::iter_mut) {
            if section == "oauth" && key != "client_secret" {
                continue;
            }
            let Some(text) = value.as_str() else { continue };
            let Some(secret) = secret_of(text, &known) else { continue };
            let variable = secrets.add(&variable_name(name, key), secret)?;
            let lead = &text[..text.len() - secret.len()];
            *value = format!("{lead}${{{variable}}}").into();
            moved.push(Moved {
                server: name.to_owned(),
                key: format!("{section}.{key}"),
                variable,
            });
        }
    }
    Ok(moved)
}

/// The part of a value that is secret: all of it, or what follows a word such as `Bearer`.
fn secret_of<'t>(text: &'t str, known: &[&str]) -> Option<&'t str> {
    if text.contains("${") {
        return None;
    }
    let last = text.rsplit(' ').next().unwrap_or(text);
    let looks_known = last.len() >= MIN_TOKEN_BYTES
        && TOKEN_BEGINNINGS.iter().any(|beginning| last.starts_with(beginning));
    let named = known.iter().filter(|secret| {
        text.strip_suffix(**secret).is_some_and(|lead| lead.is_empty() || lead.ends_with(' '))
    });
    let shortest = named.map(|secret| secret.len()).min();
    let length = shortest.or(looks_known.then_some(last.len()))?;
    text.get(text.len() - length..)
}

fn variable_name(server: &str, key: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("MCP_{server}_{key}").chars().map(upper).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_part_of_a_value_is_found() {
        let known = ["Bearer abcd1234", "abcd1234", "s3cret"];
        for (text, secret) in [
            ("Bearer abcd1234", Some("abcd1234")),
            ("s3cret", Some("s3cret")),
            ("nos3cret", None),
            ("${X}", None),
            ("Bearer ${abcd1234", None),
            ("ghp_0123456789abcdef", Some("ghp_0123456789abcdef")),
            ("token ghp_0123456789abcdef", Some("ghp_0123456789abcdef")),
            ("ghp_short", None),
            ("", None),
        ] {
            assert_eq!(secret_of(text, &known), secret, "{text}");
        }
        assert_eq!(variable_name("my.api", "X-Api-Key"), "MCP_MY_API_X_API_KEY");
    }
}
