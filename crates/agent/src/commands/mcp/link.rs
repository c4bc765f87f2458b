//! `agent mcp link`: an install link for a configured server, without its secrets.

use mcp_client::config::{
    Configured, Endpoint, KnownSecret, Scope, Text, looks_like_token, parse_entry, schema,
};
use mcp_client::install_link;
use serde_json::{Map, Value as Json, json};
use task_loop::untrusted::printable;

use super::secrets::{MovedSecret, SIGN_IN_SECRETS, SecretMover};
use crate::config::secrets::SecretsFile;
use crate::config::servers::ServersFile;
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::host::{host, is_this_machine};
use crate::mcp::project::SIGN_IN_FILES;
use crate::output::WARNING;
use crate::session::Session;

/// Print an install link for a server without its secrets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
References such as `${TOKEN}` are kept; literal secrets are replaced by references, which the \
recipient sets.

Examples:
  agent mcp link docs
  agent mcp link docs --json")]
pub(crate) struct Args {
    /// Server name
    name: String,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let file = ServersFile::load(&session.home()?.config())?;
    let name = &args.name;
    file.existing(std::slice::from_ref(name))
        .map_err(|diagnostic| Diagnostic { exit: Exit::Configuration, ..diagnostic })?;
    let Shareable { entry, replaced, notes } =
        Shareable::of(name, file.entry(name).unwrap_or_default())?;
    let message = format!("cannot create an install link for `{}`", printable(name));
    let link = install_link::build(name, &entry);
    let link = link.or_diagnostic(Diagnostic::configuration(message))?;
    if session.output.is_json() {
        return session.output.json(&json!({
            "name": name,
            "link": link,
            "replaced_secrets": replaced,
            "notes": notes,
        }));
    }
    for moved in &replaced {
        session.output.note(format!(
            "The secret of {} is replaced by `${{{}}}`.",
            printable(&moved.key),
            moved.variable
        ));
    }
    for note in &notes {
        session.output.note(format!("{WARNING}note:{WARNING:#} {}", printable(note)));
    }
    session.output.text(format!("{link}\n"))
}

/// Mappings with free keys.
const FREE: [&str; 2] = ["env", "headers"];
const PATHS: [&str; 7] =
    ["command", "args", "env", "cwd", "ssl_verify", "client_cert", "client_key"];

/// Replacement of references: too short to be a secret, and valid as a host, a port, a number
/// and a switch.
const HARMLESS: &str = "1";

#[derive(Debug)]
struct Shareable {
    entry: Map<String, Json>,
    /// The secrets it had, and their replacements.
    replaced: Vec<MovedSecret>,
    notes: Vec<String>,
}

impl Shareable {
    fn of(name: &str, mut entry: Json) -> Result<Self> {
        let mut notes = Vec::new();
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("enabled");
            leave_out_unknown(entry, &mut notes);
        }
        let known = credentials(&understood(name, &entry)?.secrets);
        // The file is never written: it only makes names for the references.
        let mut secrets = SecretsFile::default();
        let mut mover = SecretMover { name, known, secrets: &mut secrets, moved: Vec::new() };
        replace_secrets(&mut mover, "", &mut entry)?;
        let replaced = mover.moved;
        refuse_secrets(name, &entry)?;
        let Json::Object(entry) = entry else {
            let message = format!("server `{}` is not a mapping", printable(name));
            return Err(Diagnostic::configuration(message));
        };
        note_machine(&entry, &mut notes);
        Ok(Self { entry, replaced, notes })
    }
}

/// Removes unknown keys: their values might be secret.
fn leave_out_unknown(entry: &mut Map<String, Json>, notes: &mut Vec<String>) {
    let mut leave_out = |section: &str, values: &mut Map<String, Json>| {
        values.retain(|key, _| {
            let is_known = schema().has_key(section, key);
            if !is_known {
                let gap = if section.is_empty() { "" } else { "." };
                notes.push(format!("{section}{gap}{key}: unknown key, left out"));
            }
            is_known
        });
    };
    leave_out("", entry);
    for (key, value) in entry.iter_mut() {
        if let Json::Object(values) = value
            && !FREE.contains(&key.as_str())
        {
            leave_out(key, values);
        }
    }
}

/// The entry with every reference resolved to a harmless value: any remaining secret was
/// written literally. An invalid entry may hold anything and is refused.
fn understood(name: &str, entry: &Json) -> Result<Configured> {
    let texts = strings(entry);
    let references = texts.iter().flat_map(|text| Scope::default().resolve(text).1);
    let process = references.map(|found| (found.name, HARMLESS.to_owned())).collect();
    let scope = Scope { process, home: Some("/".into()), ..Scope::default() };
    let (configured, _) = parse_entry(name, entry, &scope).map_err(|problems| {
        let message = format!("invalid configuration of server `{}`", printable(name));
        Diagnostic::configuration(message)
            .causes(problems.iter().map(|problem| printable(&problem.to_string())))
    })?;
    Ok(configured)
}

/// The secrets themselves: not a whole `Bearer x` where `x` is known.
fn credentials(secrets: &[KnownSecret]) -> Vec<KnownSecret> {
    let is_credential_of = |inner: &KnownSecret, outer: &KnownSecret| {
        inner.label == outer.label
            && outer.value().strip_suffix(inner.value()).is_some_and(|lead| lead.ends_with(' '))
    };
    let is_whole = |outer: &KnownSecret| secrets.iter().any(|inner| is_credential_of(inner, outer));
    secrets.iter().filter(|secret| !is_whole(secret)).cloned().collect()
}

/// Fails if a secret is left, such as one beside a reference.
fn refuse_secrets(name: &str, entry: &Json) -> Result {
    let configured = understood(name, entry)?;
    let texts = strings(entry);
    let known = configured.secrets.iter();
    let mut left = known.filter(|secret| texts.iter().any(|text| text.contains(secret.value())));
    let label = match (left.next(), masked(&configured.entry.endpoint)) {
        (Some(secret), _) => printable(&secret.label),
        (None, Some(key)) => printable(&key),
        (None, None) => return Ok(()),
    };
    Err(cannot_be_left_out(name, &label))
}

fn cannot_be_left_out(name: &str, key: &str) -> Diagnostic {
    let message = format!("cannot remove a secret of `{}`: {key}", printable(name));
    Diagnostic::configuration(message)
        .hint("move the whole value to `.env` and refer to it as `${NAME}`")
}

/// The key whose value is masked in the output, if there is one.
fn masked(endpoint: &Endpoint) -> Option<String> {
    let hides = |text: &Text| text.shown() != text.written();
    let within = |section: &str, pairs: &[(String, Text)]| {
        let found = pairs.iter().find(|(_, text)| hides(text));
        found.map(|(key, _)| format!("{section}.{key}"))
    };
    match endpoint {
        Endpoint::Stdio(stdio) if hides(&stdio.command) => Some("command".to_owned()),
        Endpoint::Stdio(stdio) => {
            let at = stdio.args.iter().position(hides);
            at.map(|at| format!("args[{at}]")).or_else(|| within("env", &stdio.env))
        }
        Endpoint::Http(http) if hides(&http.url) => Some("url".to_owned()),
        Endpoint::Http(http) => within("headers", &http.headers).or_else(|| {
            let password = http.client_cert.as_ref().and_then(|cert| cert.password.as_ref());
            password.is_some_and(hides).then(|| "client_cert".to_owned())
        }),
    }
}

/// Replaces remaining secrets by references, anywhere in the entry.
fn replace_secrets(mover: &mut SecretMover<'_>, key: &str, value: &mut Json) -> Result {
    match value {
        Json::String(text) => replace_in_text(mover, key, text),
        Json::Array(items) => {
            items.iter_mut().try_for_each(|item| replace_secrets(mover, key, item))
        }
        Json::Object(entries) => entries.iter_mut().try_for_each(|(inner, value)| {
            let key = if key.is_empty() { inner } else { &format!("{key}.{inner}") };
            replace_secrets(mover, key, value)
        }),
        _ => Ok(()),
    }
}

fn replace_in_text(mover: &mut SecretMover<'_>, key: &str, text: &mut String) -> Result {
    *text = without_defaults(text);
    let secret = key.strip_prefix("oauth.").filter(|key| SIGN_IN_SECRETS.contains(key));
    if let Some(secret) = secret.filter(|_| !text.is_empty() && !is_reference(text)) {
        if text.contains("${") {
            return Err(cannot_be_left_out(mover.name, key));
        }
        *text = mover.reference(key, secret, text)?;
        return Ok(());
    }
    let known = mover.known.iter().filter(|secret| text.contains(secret.value()));
    let mut found: Vec<KnownSecret> = known.cloned().collect();
    let tokens = text.split_whitespace().filter(|word| looks_like_token(word));
    found.extend(tokens.map(|token| KnownSecret::new("token", token)));
    for secret in found.iter().filter(|secret| !secret.value().is_empty()) {
        // It may have been replaced with a longer one.
        if text.contains(secret.value()) {
            let reference = mover.reference(key, &secret.label, secret.value())?;
            *text = text.replace(secret.value(), &reference);
        }
    }
    Ok(())
}

/// The text without the defaults of its references, which may be secrets.
fn without_defaults(text: &str) -> String {
    let mut parts = text.split("${");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("${");
        match part.split_once('}') {
            Some((inner, rest)) => {
                let name = inner.split(":-").next().unwrap_or_default();
                plain.push_str(&format!("{name}}}{rest}"));
            }
            None => plain.push_str(part),
        }
    }
    plain
}

fn is_reference(text: &str) -> bool {
    let name = text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.contains(['{', '}']))
}

/// Notes settings that may not fit another machine.
fn note_machine(entry: &Map<String, Json>, notes: &mut Vec<String>) {
    for key in PATHS {
        let paths = entry.get(key).map(strings).unwrap_or_default().into_iter();
        let paths = paths.filter(|text| is_path(text));
        notes.extend(paths.map(|path| format!("{key}: `{path}` is a path on this machine")));
    }
    let oauth = entry.get("oauth").and_then(Json::as_object);
    for key in SIGN_IN_FILES {
        if let Some(path) = oauth.and_then(|oauth| oauth.get(key)).and_then(Json::as_str) {
            notes.push(format!(
                "oauth.{key}: `{path}` is a file on this machine; `agent mcp install` rejects \
                 links that refer to one"
            ));
        }
    }
    let url = entry.get("url").and_then(Json::as_str);
    if url.is_some_and(|url| is_this_machine(url) || host(url).starts_with("0.0.0.0")) {
        notes.push("url: the address is local to this machine".to_owned());
    }
}

/// All texts in a value, however deep.
pub(super) fn strings(value: &Json) -> Vec<&str> {
    match value {
        Json::String(text) => vec![text],
        Json::Array(items) => items.iter().flat_map(strings).collect(),
        Json::Object(entries) => entries.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

fn is_path(text: &str) -> bool {
    let has_drive = text.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/")
        && text.starts_with(|c: char| c.is_ascii_alphabetic());
    text.starts_with('/') || text.starts_with("~/") || text == "~" || has_drive
}

#[cfg(test)]
mod tests;
