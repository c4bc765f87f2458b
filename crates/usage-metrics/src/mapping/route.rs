//! Model routes: identifiers of model and provider.
//!
//! These are the only dimensions without a list. An identifier is stored as the caller gives it,
//! including the name of a private model; the caller must replace such names before it counts.

use std::borrow::Cow;

use super::{UNKNOWN, normalise, normalise_optional};
use crate::catalogue::{self, ModelCallOutcome};

#[cfg(test)]
mod tests;

pub const MAX_MODEL_CHARS: usize = 256;

pub const MAX_PROVIDER_CHARS: usize = 64;

/// Prefix of auxiliary roles such as `auxiliary:compression`.
const AUXILIARY_PREFIX: &str = "auxiliary:";

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
    first_identifier(response, requested, MAX_MODEL_CHARS)
}

pub fn provider<'a>(response: Option<&'a str>, requested: Option<&'a str>) -> Cow<'a, str> {
    first_identifier(response, requested, MAX_PROVIDER_CHARS)
}

fn first_identifier<'a>(
    response: Option<&'a str>,
    requested: Option<&'a str>,
    max_chars: usize,
) -> Cow<'a, str> {
    identifier(response, max_chars)
        .or_else(|| identifier(requested, max_chars))
        .unwrap_or(Cow::Borrowed(UNKNOWN))
}

/// Whether a logical call with this role and outcome counts as a route.
///
/// Primary calls and calls without a role always count, auxiliary calls only with a listed outcome,
/// and calls with another role never.
pub fn counts(role: Option<&str>, outcome: &str) -> bool {
    match normalise_optional(role).as_ref() {
        "" | "primary" => true,
        role if role.starts_with(AUXILIARY_PREFIX) => {
            ModelCallOutcome::parse(&normalise(outcome)).is_some()
        }
        _ => false,
    }
}
