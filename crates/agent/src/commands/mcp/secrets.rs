//! Literal secrets, and moving them to the profile's `.env`.

use mcp_client::config::{Endpoint, KnownSecret, Scope, Text, looks_like_token, parse_entry};
use serde_json::{Map, Value as Json};

use crate::config::secrets::SecretsFile;
use crate::diagnostic::Result;

/// OAuth keys whose values are always secret.
pub(super) const SIGN_IN_SECRETS: [&str; 3] = ["client_secret", "assertion", "idp_client_secret"];

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct MovedSecret {
    pub(super) server: String,
    pub(super) key: String,
    pub(super) variable: String,
}

pub(super) fn move_secrets(
    name: &str,
    entry: &mut Json,
    secrets: &mut SecretsFile,
) -> Result<Vec<MovedSecret>> {
    // Read without variables: every secret found is literal.
    let Ok((configured, _)) = parse_entry(name, entry, &Scope::default()) else {
        return Ok(Vec::new());
    };
    let mut mover = SecretMover { name, known: configured.secrets, secrets, moved: Vec::new() };
    for section in ["env", "headers", "oauth"] {
        let values = entry.get_mut(section).and_then(Json::as_object_mut);
        for (key, value) in values.into_iter().flat_map(Map::iter_mut) {
            if let Json::String(text) = value {
                mover.named(section, key, text)?;
            }
        }
    }
    if let Some(Json::String(url)) = entry.get_mut("url") {
        mover.embedded("url", url)?;
    }
    let args = entry.get_mut("args").and_then(Json::as_array_mut);
    for arg in args.into_iter().flatten() {
        if let Json::String(arg) = arg {
            mover.embedded("args", arg)?;
        }
    }
    Ok(mover.moved)
}

/// The remaining step for a secret that could not be moved.
pub(super) fn left_over(name: &str, entry: &Json) -> Option<String> {
    let (configured, _) = parse_entry(name, entry, &Scope::default()).ok()?;
    let holds = |text: &Text| text.shown() != text.written();
    let place = match &configured.entry.endpoint {
        Endpoint::Stdio(endpoint) if endpoint.args.iter().any(holds) => "args",
        Endpoint::Http(endpoint) if holds(&endpoint.url) => "url",
        _ => return None,
    };
    Some(format!(
        "{name}: {place}: secret in plain text; move it to `.env` and refer to it as `${{NAME}}`"
    ))
}

/// Replaces secrets of an entry by references to variables.
pub(super) struct SecretMover<'m> {
    pub(super) name: &'m str,
    /// The longest first.
    pub(super) known: Vec<KnownSecret>,
    pub(super) secrets: &'m mut SecretsFile,
    pub(super) moved: Vec<MovedSecret>,
}

impl SecretMover<'_> {
    /// A value whose name may make it a secret.
    fn named(&mut self, section: &str, key: &str, text: &mut String) -> Result {
        let place = format!("{section}.{key}");
        let secret = match section {
            "oauth" if !SIGN_IN_SECRETS.contains(&key) => return Ok(()),
            // Secret as a whole; without `auth: oauth` the parser did not check it.
            "oauth" if text.is_empty() || text.contains("${") => return Ok(()),
            "oauth" => Some(text.as_str()),
            _ => secret_of(text, &self.known),
        };
        let Some(secret) = secret else { return self.embedded(&place, text) };
        let reference = self.reference(&place, key, secret)?;
        let start = text.len() - secret.len();
        text.replace_range(start.., &reference);
        Ok(())
    }

    /// A value that may contain secrets: `--token=x`, `?key=x`, `Authorization: Bearer x`.
    fn embedded(&mut self, place: &str, text: &mut String) -> Result {
        if text.contains("${") {
            return Ok(());
        }
        for secret in self.known.clone() {
            if let Some(at) = stands_alone(text, secret.value()) {
                let reference = self.reference(place, &secret.label, secret.value())?;
                text.replace_range(at..at + secret.value().len(), &reference);
            }
        }
        Ok(())
    }

    /// Stores the secret at `place` in a variable named after `key`; returns a reference to it.
    pub(super) fn reference(&mut self, place: &str, key: &str, secret: &str) -> Result<String> {
        let variable = self.secrets.add(&variable_name(self.name, key), secret)?;
        let reference = format!("${{{variable}}}");
        self.moved.push(MovedSecret { server: self.name.into(), key: place.into(), variable });
        Ok(reference)
    }
}

/// The secret part of a value: all of it, or the text after a word such as `Bearer`.
fn secret_of<'t>(text: &'t str, known: &[KnownSecret]) -> Option<&'t str> {
    if text.contains("${") {
        return None;
    }
    let last = text.rsplit(' ').next().unwrap_or(text);
    let named = known.iter().map(KnownSecret::value).filter(|secret| {
        text.strip_suffix(secret).is_some_and(|lead| lead.is_empty() || lead.ends_with(' '))
    });
    let length = named.map(str::len).min().or(looks_like_token(last).then_some(last.len()))?;
    text.get(text.len() - length..)
}

/// The position of a secret in a text, unless it is part of another word.
fn stands_alone(text: &str, secret: &str) -> Option<usize> {
    text.match_indices(secret).map(|(at, _)| at).find(|at| {
        let (before, after) = (&text[..*at], &text[at + secret.len()..]);
        (before.is_empty() || before.ends_with(['=', ':', ' ', '/']))
            && (after.is_empty() || after.starts_with(['&', ';', '#', '@']))
    })
}

pub(super) fn variable_name(server: &str, key: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("MCP_{server}_{key}").chars().map(upper).collect()
}

#[cfg(test)]
mod tests;
