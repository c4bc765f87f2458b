//! The install link: `agent://mcp/install?name=…&config=…`.
//!
//! Reading one is pure and installs nothing. The checks stand in a fixed order, each with a code
//! of its own: the name, that there is a configuration, its size, its encoding, that it is an
//! object, its shape, its address.

mod strict;

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use crate::config::{fault_of_address, valid_name};

/// The largest configuration of a link, in bytes once decoded.
pub const MAX_CONFIG_BYTES: usize = 32_768;
/// The longest configuration that is decoded at all, in characters without white space: more than
/// the largest one has with all its padding.
const MAX_ENCODED_CHARS: usize = 43_695;

/// Both alphabets once the letters of base64url are those of base64; padding is optional.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A server that somebody offers.
#[derive(Clone, PartialEq)]
pub struct InstallLink {
    /// The name it is offered under.
    pub name: String,
    /// Its entry, with either a `url` or a `command`.
    pub config: Map<String, Value>,
}

// An entry may hold secrets: its keys are all that is shown.
impl fmt::Debug for InstallLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.config.keys().collect();
        f.debug_struct("InstallLink").field("name", &self.name).field("config", &keys).finish()
    }
}

/// Why a text is no link that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It is something else.
    #[error("this is no install link; one reads `agent://mcp/install?name=NAME&config=CONFIG`")]
    NotALink,
    /// The name is missing, given twice, or cannot be a name.
    #[error("`name` must be given once: 1 to 64 letters, digits, dots, underscores and hyphens")]
    InvalidName,
    /// There is no configuration.
    #[error("`config` is missing: the entry of the server, a JSON object in base64url")]
    MissingConfig,
    /// There is too much of it.
    #[error("`config` is too large: at most {} bytes are allowed, once decoded", MAX_CONFIG_BYTES)]
    PayloadTooLarge,
    /// It is not JSON in base64.
    #[error("`config` cannot be decoded: {0}")]
    BadEncoding(Garbled),
    /// It is JSON of another kind.
    #[error("`config` must be a JSON object with the entry of the server")]
    NotAnObject,
    /// It is no entry of a server.
    #[error("`config` is no server: {0}")]
    InvalidShape(Misshape),
    /// Its address cannot be one of a server.
    #[error("`url` must be an http or https address with a host: {fault}")]
    InvalidUrl {
        /// What is wrong with it.
        fault: &'static str,
    },
}

/// Why a configuration cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Garbled {
    /// There are two.
    #[error("it is given twice")]
    Twice,
    /// It holds what base64 does not, or is cut off.
    #[error("it must be base64url or base64")]
    Base64,
    /// The bytes are no text.
    #[error("it must be UTF-8")]
    Utf8,
    /// The text is no JSON, or nested too deeply.
    #[error("it must be JSON, and not nested too deeply")]
    Json,
    /// An object has a key twice: who looks at it may see another value than who uses it.
    #[error("a key stands twice in an object")]
    KeyTwice,
}

/// Why an object is no entry of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misshape {
    /// It says how to reach it in two ways.
    #[error("it has both `url` and `command`, one is allowed")]
    Both,
    /// It does not say how to reach it.
    #[error("it needs a `url` or a `command`")]
    Neither,
    /// The address is no text.
    #[error("`url` must be a string")]
    Url,
    /// The command is no text that can be run.
    #[error("`command` must be a string that is not blank and holds no NUL character")]
    Command,
}

impl LinkError {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotALink => "not_a_link",
            Self::InvalidName => "invalid_name",
            Self::MissingConfig => "missing_config",
            Self::PayloadTooLarge => "payload_too_large",
            Self::BadEncoding(_) => "bad_encoding",
            Self::NotAnObject => "not_an_object",
            Self::InvalidShape(_) => "invalid_shape",
            Self::InvalidUrl { .. } => "invalid_url",
        }
    }
}

/// Reads a link.
pub fn parse(link: &str) -> Result<InstallLink, LinkError> {
    let query = query_of(link.trim()).ok_or(LinkError::NotALink)?;
    // Plus is a letter of base64; a query that is read as a form would have a space for it.
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
        return Err(LinkError::BadEncoding(Garbled::Twice));
    }
    let decoded = match decode(&encoded) {
        // Somebody on the way has read the query as a form already.
        Err(LinkError::BadEncoding(_)) if config.contains(' ') => {
            decode(&config.replace(' ', "+")).or_else(|_| decode(&encoded))
        }
        decoded => decoded,
    }?;
    Ok(InstallLink { name, config: checked(decoded)? })
}

/// Makes a link that reads as this name and this entry.
pub fn make(name: &str, config: &Map<String, Value>) -> Result<String, LinkError> {
    if !valid_name(name) {
        return Err(LinkError::InvalidName);
    }
    let text = serde_json::to_string(config).map_err(|_| LinkError::BadEncoding(Garbled::Json))?;
    if text.len() > MAX_CONFIG_BYTES {
        return Err(LinkError::PayloadTooLarge);
    }
    checked(strict::read(&text).map_err(LinkError::BadEncoding)?)?;
    Ok(format!("agent://mcp/install?name={name}&config={}", URL_SAFE_NO_PAD.encode(text)))
}

/// The query of a link; nothing if the text is something else. Scheme and host have no case.
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
    let bytes = BASE64.decode(letters).map_err(|_| LinkError::BadEncoding(Garbled::Base64))?;
    if bytes.len() > MAX_CONFIG_BYTES {
        return Err(LinkError::PayloadTooLarge);
    }
    let text = str::from_utf8(&bytes).map_err(|_| LinkError::BadEncoding(Garbled::Utf8))?;
    strict::read(text).map_err(LinkError::BadEncoding)
}

/// The entry, if it says in one way how to reach the server.
fn checked(config: Value) -> Result<Map<String, Value>, LinkError> {
    let Value::Object(config) = config else { return Err(LinkError::NotAnObject) };
    match (config.get("url"), config.get("command")) {
        (Some(_), Some(_)) => Err(LinkError::InvalidShape(Misshape::Both)),
        (None, None) => Err(LinkError::InvalidShape(Misshape::Neither)),
        (Some(Value::String(url)), None) => match fault_of_address(&without_references(url)) {
            Some(fault) => Err(LinkError::InvalidUrl { fault }),
            None => Ok(config),
        },
        (Some(_), None) => Err(LinkError::InvalidShape(Misshape::Url)),
        (None, Some(Value::String(command)))
            if !command.trim().is_empty() && !command.contains('\0') =>
        {
            Ok(config)
        }
        (None, Some(_)) => Err(LinkError::InvalidShape(Misshape::Command)),
    }
}

/// An address with something in place of each `${NAME}`, which stands for a host, a port or a
/// part of the path as well.
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
