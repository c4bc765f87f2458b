//! Secret values of an entry, and where they can occur.

use std::fmt;

use percent_encoding::percent_decode_str;

use crate::scope::{Origin, Reference};
use crate::text::Text;

/// Maximum number of stored secrets per entry: more than its arguments, variables and headers.
pub const MAX_SECRETS: usize = 4096;
/// A number of at most this many digits is a port or a time, not a secret.
const MAX_PLAIN_DIGITS: usize = 6;
/// Minimum length of a secret: shorter values occur in too many harmless texts.
const MIN_LENGTH: usize = 4;
/// Minimum length of a secret from the process environment.
const MIN_PROCESS_LENGTH: usize = 8;
const HIDDEN: &str = "[hidden]";

/// Process variables with public values.
const HARMLESS: &[&str] = &[
    "HOME", "PATH", "USER", "LOGNAME", "USERNAME", "LANG", "SHELL", "TERM", "PWD", "OLDPWD",
    "TMPDIR", "TEMP", "TMP", "TZ", "HOSTNAME", "EDITOR", "DISPLAY",
];
const HARMLESS_PREFIXES: &[&str] = &["XDG_", "LC_"];

/// Parts of names of secret values.
const SECRET_WORDS: &[&str] =
    &["token", "secret", "password", "passwd", "key", "auth", "credential", "cookie", "session"];
/// Whole words in names of secret values; ignored within other words.
const SECRET_NAMES: &[&str] = &["pat"];
/// Prefixes of well-known tokens, whose names do not always reveal them.
const TOKEN_BEGINNINGS: &[&str] = &[
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-",
    "xoxa-", "xapp-", "AKIA", "eyJ", "npm_", "hf_",
];
/// Minimum length of a value with a token prefix.
const MIN_TOKEN_BYTES: usize = 16;
/// Values under such names that are not secret.
const PLAIN_WORDS: &[&str] =
    &["true", "false", "none", "null", "basic", "bearer", "oauth", "oauth2", "disabled", "enabled"];
/// Schemes before the credential in an `Authorization` header.
const SCHEMES: &[&str] = &["bearer ", "basic ", "token ", "apikey "];

/// A secret value, and the name shown instead.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    /// Name of its variable or key.
    pub label: String,
    value: String,
}

impl KnownSecret {
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into() }
    }

    /// The value, to find it in output.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownSecret").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Whether a name suggests a secret value.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    SECRET_WORDS.iter().any(|word| name.contains(word))
        || words.any(|word| SECRET_NAMES.contains(&word))
}

/// Whether a value has the prefix of a well-known token, is one word and long enough.
pub fn looks_like_token(value: &str) -> bool {
    value.len() >= MIN_TOKEN_BYTES
        && TOKEN_BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+/=".contains(&byte))
}

/// Collects the secrets of one entry.
#[derive(Debug, Default)]
pub struct Secrets {
    found: Vec<KnownSecret>,
}

impl Secrets {
    /// The secrets without duplicates, longest first, so that replacing one never leaves a part
    /// of a longer one.
    pub fn into_known(mut self) -> Vec<KnownSecret> {
        self.found
            .sort_by(|a, b| b.value.len().cmp(&a.value.len()).then_with(|| a.value.cmp(&b.value)));
        self.found.dedup_by(|later, earlier| later.value == earlier.value);
        self.found.truncate(MAX_SECRETS);
        self.found
    }

    /// Records the values of references that may be secret.
    pub fn note_references(&mut self, references: &[Reference]) {
        for Reference { name, origin, value } in references {
            let least = match origin {
                Origin::Secrets => MIN_LENGTH,
                Origin::Process if !is_harmless(name) => MIN_PROCESS_LENGTH,
                Origin::Process | Origin::Context | Origin::Default | Origin::Unset => continue,
            };
            if value.chars().count() >= least && !is_plain(value) {
                self.found.push(KnownSecret::new(name.clone(), value.clone()));
            }
        }
    }

    /// A named value: hidden if the name suggests a secret.
    pub fn named(&mut self, name: &str, text: Text) -> Text {
        if !looks_secret(name) {
            return self.embedded(text);
        }
        let credential = after_scheme(text.value()).to_owned();
        self.add(name, &credential);
        self.whole(name, text)
    }

    /// A value that is entirely secret.
    pub fn whole(&mut self, label: &str, text: Text) -> Text {
        let value = text.value().to_owned();
        self.add(label, &value);
        let credential = after_scheme(text.written());
        if is_placeholder(credential) || is_plain(credential) {
            return text;
        }
        let scheme = &text.written()[..text.written().len() - credential.len()];
        let shown = format!("{scheme}{HIDDEN}");
        text.masked(shown)
    }

    /// A value that may contain secrets: in a URL, after a flag, after a name.
    pub fn embedded(&mut self, text: Text) -> Text {
        let used = embedded_secrets(text.value());
        for (label, value) in &used {
            self.add(label, value);
            if let Some(decoded) = percent_decoded(value) {
                self.add(label, &decoded);
            }
        }
        let mut written = embedded_secrets(text.written());
        written.retain(|(_, value)| !is_placeholder(value) && !is_plain(value));
        written.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        if written.is_empty() {
            return text;
        }
        let shown = written.iter().fold(text.written().to_owned(), |shown, (_, value)| {
            shown.replace(value.as_str(), HIDDEN)
        });
        text.masked(shown)
    }

    /// Arguments, including those after a flag with a secret name.
    pub fn args(&mut self, args: Vec<Text>) -> Vec<Text> {
        let mut flag: Option<String> = None;
        args.into_iter()
            .map(|arg| {
                let announced = flag.take();
                if let Some(name) = announced
                    && !arg.written().starts_with('-')
                {
                    return self.named(&name, arg);
                }
                let written = arg.written();
                if written.starts_with('-') && !written.contains('=') && looks_secret(written) {
                    flag = Some(written.trim_start_matches('-').to_owned());
                }
                self.embedded(arg)
            })
            .collect()
    }

    fn add(&mut self, label: &str, value: &str) {
        if value.chars().count() >= MIN_LENGTH && !is_plain(value) && !is_placeholder(value) {
            self.found.push(KnownSecret::new(label, value));
        }
    }
}

fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || HARMLESS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Values that are never secret: switches, and numbers like ports and seconds.
fn is_plain(value: &str) -> bool {
    let is_number = value.len() <= MAX_PLAIN_DIGITS && value.bytes().all(|b| b.is_ascii_digit());
    is_number || PLAIN_WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Whether a string is a single reference.
fn is_placeholder(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.find('}').map(|end| end + 1 == rest.len()))
        == Some(true)
}

/// The credential of an `Authorization` header, or the whole value.
fn after_scheme(value: &str) -> &str {
    SCHEMES
        .iter()
        .find_map(|scheme| {
            let head = value.get(..scheme.len())?;
            head.eq_ignore_ascii_case(scheme).then(|| value[scheme.len()..].trim_start())
        })
        .unwrap_or(value)
}

/// Label and value of each secret inside a string.
fn embedded_secrets(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if looks_like_token(text) {
        found.push(("token".to_owned(), text.to_owned()));
    }
    if let Some((_, rest)) = text.split_once("://") {
        in_address(rest, &mut found);
    }
    // `--token=x`, `API_KEY=x`, `Authorization: x`: the first separator decides.
    if let Some(at) = text.find(['=', ':']) {
        let (name, value) = (text[..at].trim(), text[at + 1..].trim());
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if is_name && looks_secret(name) && !value.is_empty() {
            found.push((name.trim_start_matches('-').to_owned(), after_scheme(value).to_owned()));
        }
    }
    found
}

/// User information and secret query values of a URL, given the text after `://`.
fn in_address(rest: &str, found: &mut Vec<(String, String)>) {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((user_information, _)) = authority.rsplit_once('@') {
        let (label, secret) = match user_information.split_once(':') {
            Some((_, password)) if !password.is_empty() => ("URL password", password),
            _ => ("URL user", user_information),
        };
        if !secret.is_empty() {
            found.push((label.to_owned(), secret.to_owned()));
        }
    }
    let Some((_, query)) = rest.split_once('?') else { return };
    let query = query.split('#').next().unwrap_or_default();
    for pair in query.split(['&', ';']) {
        if let Some((name, value)) = pair.split_once('=')
            && looks_secret(name)
            && !value.is_empty()
        {
            found.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// The percent-decoded value, if it differs and is valid text.
fn percent_decoded(value: &str) -> Option<String> {
    if !value.contains('%') {
        return None;
    }
    let decoded = percent_decode_str(value).decode_utf8().ok()?;
    (decoded != value).then(|| decoded.into_owned())
}

#[cfg(test)]
mod tests;
