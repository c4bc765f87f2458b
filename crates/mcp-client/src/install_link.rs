//! Install links: `agent://mcp/install?name=…&config=…`.
//!
//! Parsing is pure and installs nothing. The checks run in a fixed order, each with its code: name,
//! presence of a configuration, size, encoding, object, shape, URL.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use crate::config::{fault_of_address, valid_name};

pub const MAX_CONFIG_BYTES: usize = 32_768;
/// Maximum encoded length without white space: the largest configuration with padding fits.
const MAX_ENCODED_CHARS: usize = 43_695;

/// Decodes both alphabets after base64url letters are mapped to base64; padding is optional.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Clone, PartialEq)]
pub struct InstallLink {
    pub name: String,
    /// The entry, with either a `url` or a `command`.
    pub config: Map<String, Value>,
}

// An entry may hold secrets, so only its keys are shown.
impl fmt::Debug for InstallLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.config.keys().collect();
        f.debug_struct("InstallLink").field("name", &self.name).field("config", &keys).finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LinkError {
    #[error("not an install link; expected `agent://mcp/install?name=NAME&config=CONFIG`")]
    NotALink,
    #[error(
        "`name` must be set exactly once, to 1 to 64 letters, digits, dots, underscores and hyphens"
    )]
    InvalidName,
    #[error("`config` is missing; it must be the server entry, a JSON object in base64url")]
    MissingConfig,
    #[error("`config` is too large: the limit is {} bytes after decoding", MAX_CONFIG_BYTES)]
    PayloadTooLarge,
    #[error("cannot decode `config`: {0}")]
    BadEncoding(EncodingError),
    #[error("`config` must be a JSON object with the server entry")]
    NotAnObject,
    #[error("`config` is not a valid server entry: {0}")]
    InvalidShape(ShapeError),
    #[error("`url` must be an http or https URL with a host: {fault}")]
    InvalidUrl { fault: &'static str },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    #[error("it is set more than once")]
    Twice,
    #[error("it must be base64url or base64")]
    Base64,
    #[error("it must be UTF-8")]
    Utf8,
    #[error("it must be valid JSON without deep nesting")]
    Json,
    /// A reviewer and a parser could read different values.
    #[error("an object has a duplicate key")]
    KeyTwice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("it has both `url` and `command`; only one is allowed")]
    Both,
    #[error("it needs a `url` or a `command`")]
    Neither,
    #[error("`url` must be a string")]
    Url,
    #[error("`command` must be a non-blank string without NUL characters")]
    Command,
}

impl LinkError {
    /// The stable code for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

pub fn parse(link: &str) -> Result<InstallLink, LinkError> {
    let query = query_of(link.trim()).ok_or(LinkError::NotALink)?;
    // `+` is a base64 letter, but a form parser would decode it as a space.
    let query = query.replace('+', "%2B");
    let values = |wanted: &'static str| {
        form_urlencoded::parse(query.as_bytes()).filter(move |(name, _)| name == wanted)
    };
    let mut names = values("name");
    let name = match (names.next(), names.next()) {
        (Some((_, name)), None) if valid_name(&name) => name.into_owned(),
        _ => return Err(LinkError::InvalidName),
    };
    let mut configs = values("config");
    let config = configs.next().ok_or(LinkError::MissingConfig)?.1;
    let config = config.trim();
    if config.is_empty() {
        return Err(LinkError::MissingConfig);
    }
    let encoded: String = config.split_whitespace().collect();
    if encoded.len() > MAX_ENCODED_CHARS {
        return Err(LinkError::PayloadTooLarge);
    }
    if configs.next().is_some() {
        return Err(LinkError::BadEncoding(EncodingError::Twice));
    }
    let decoded = match decode(&encoded) {
        // An intermediary has decoded the query as a form already.
        Err(LinkError::BadEncoding(_)) if config.contains(' ') => {
            decode(&config.replace(' ', "+")).or_else(|_| decode(&encoded))
        }
        decoded => decoded,
    }?;
    Ok(InstallLink { name, config: checked(decoded)? })
}

pub fn build(name: &str, config: &Map<String, Value>) -> Result<String, LinkError> {
    if !valid_name(name) {
        return Err(LinkError::InvalidName);
    }
    let text =
        serde_json::to_string(config).map_err(|_| LinkError::BadEncoding(EncodingError::Json))?;
    if text.len() > MAX_CONFIG_BYTES {
        return Err(LinkError::PayloadTooLarge);
    }
    checked(parse_unique(&text).map_err(LinkError::BadEncoding)?)?;
    Ok(format!("agent://mcp/install?name={name}&config={}", URL_SAFE_NO_PAD.encode(text)))
}

/// The query of an install link. Scheme and host are case-insensitive.
fn query_of(link: &str) -> Option<&str> {
    let (scheme, rest) = link.split_once("://")?;
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = place.split_once('/')?;
    let is_ours = scheme.eq_ignore_ascii_case("agent")
        && host.eq_ignore_ascii_case("mcp")
        && path.strip_suffix('/').unwrap_or(path) == "install";
    is_ours.then_some(query)
}

fn decode(encoded: &str) -> Result<Value, LinkError> {
    let letter = |byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    };
    let letters: Vec<u8> = encoded.bytes().map(letter).collect();
    let bytes =
        BASE64.decode(letters).map_err(|_| LinkError::BadEncoding(EncodingError::Base64))?;
    if bytes.len() > MAX_CONFIG_BYTES {
        return Err(LinkError::PayloadTooLarge);
    }
    let text = str::from_utf8(&bytes).map_err(|_| LinkError::BadEncoding(EncodingError::Utf8))?;
    parse_unique(text).map_err(LinkError::BadEncoding)
}

/// Parses JSON without duplicate keys: two programs could otherwise read different entries.
fn parse_unique(text: &str) -> Result<Value, EncodingError> {
    let value: Value = serde_json::from_str(text).map_err(|_| EncodingError::Json)?;
    // Outside of strings, every colon follows one key.
    let (mut keys, mut quoted, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b':' if !quoted => keys += 1,
            _ => {}
        }
    }
    if keys == count_keys(&value) { Ok(value) } else { Err(EncodingError::KeyTwice) }
}

fn count_keys(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_keys).sum(),
        Value::Object(fields) => fields.values().map(|value| 1 + count_keys(value)).sum(),
        _ => 0,
    }
}

/// The entry, if it has exactly one of `url` and `command`.
fn checked(config: Value) -> Result<Map<String, Value>, LinkError> {
    let Value::Object(config) = config else { return Err(LinkError::NotAnObject) };
    match (config.get("url"), config.get("command")) {
        (Some(_), Some(_)) => Err(LinkError::InvalidShape(ShapeError::Both)),
        (None, None) => Err(LinkError::InvalidShape(ShapeError::Neither)),
        (Some(Value::String(url)), None) => match fault_of_address(&without_references(url)) {
            Some(fault) => Err(LinkError::InvalidUrl { fault }),
            None => Ok(config),
        },
        (Some(_), None) => Err(LinkError::InvalidShape(ShapeError::Url)),
        (None, Some(Value::String(command)))
            if !command.trim().is_empty() && !command.contains('\0') =>
        {
            Ok(config)
        }
        (None, Some(_)) => Err(LinkError::InvalidShape(ShapeError::Command)),
    }
}

/// Replaces each `${NAME}`, which may be a host, a port or a part of the path.
fn without_references(url: &str) -> String {
    let mut plain = String::with_capacity(url.len());
    let mut rest = url.trim();
    while let Some((before, reference)) = rest.split_once("${")
        && let Some((_, after)) = reference.split_once('}')
    {
        plain.push_str(before);
        plain.push('1');
        rest = after;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests;
