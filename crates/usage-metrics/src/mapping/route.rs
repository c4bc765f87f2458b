//! Model routes: identifiers of model and provider.
//!
//! These are the only dimensions without a list. An identifier is stored as the caller gives it,
//! including the name of a private model; the caller must replace such names before it counts.

use std::borrow::Cow;

use super::{UNKNOWN, normalise};
use crate::catalogue;

#[cfg(test)]
mod tests;

pub const MAX_MODEL_CHARS: usize = 256;

pub const MAX_PROVIDER_CHARS: usize = 64;

/// The trimmed identifier in lower case, if it is valid and has at most `max_chars` characters.
pub fn identifier(raw: Option<&str>, max_chars: usize) -> Option<Cow<'_, str>> {
    let trimmed = raw?.trim();
    // Lower case never has fewer characters, and no character has more than four bytes, so a longer
    // text cannot become valid and is not copied.
    if trimmed.len() > max_chars.saturating_mul(char::MAX_LEN_UTF8) {
        return None;
    }
    let name = normalise(trimmed);
    catalogue::is_identifier(&name, max_chars).then_some(name)
}

/// The model of a route: the responding one, else the requested one, else [`UNKNOWN`].
pub fn model<'a>(response: Option<&'a str>, requested: Option<&'a str>) -> Cow<'a, str> {
    identifier(response, MAX_MODEL_CHARS)
        .or_else(|| identifier(requested, MAX_MODEL_CHARS))
        .unwrap_or(Cow::Borrowed(UNKNOWN))
}

pub fn provider(raw: Option<&str>) -> Cow<'_, str> {
    identifier(raw, MAX_PROVIDER_CHARS).unwrap_or(Cow::Borrowed(UNKNOWN))
}
