//! Model routes: the identifiers of model and provider, and which calls have one.
//!
//! These are the only dimensions without a list. An identifier is taken as the caller gives it,
//! so a private model's name would appear verbatim; folding such names is for the caller, before
//! it counts.

use std::borrow::Cow;

use super::{UNKNOWN, normalise, normalise_given};
use crate::catalogue::{self, ModelCallOutcome};

#[cfg(test)]
mod tests;

/// Longest identifier of a model, in characters.
pub const MAX_MODEL_CHARS: usize = 256;

/// Longest identifier of a provider, in characters.
pub const MAX_PROVIDER_CHARS: usize = 64;

/// How the roles of auxiliary calls begin: `auxiliary:compression` and the like.
const AUXILIARY_PREFIX: &str = "auxiliary:";

/// The identifier, without space around it and in lower case, if that is one of at most
/// `max_chars` characters.
pub fn identifier(raw: Option<&str>, max_chars: usize) -> Option<Cow<'_, str>> {
    let trimmed = raw?.trim();
    // Lower case never has fewer characters, and none has more than four bytes: what is longer
    // than this cannot become short enough and is not copied to find out.
    if trimmed.len() > max_chars.saturating_mul(char::MAX_LEN_UTF8) {
        return None;
    }
    let name = normalise(trimmed);
    catalogue::is_identifier(&name, max_chars).then_some(name)
}

/// The model of a route: what the response named, else what was requested, else [`UNKNOWN`].
pub fn model<'a>(response: Option<&'a str>, requested: Option<&'a str>) -> Cow<'a, str> {
    first_identifier(response, requested, MAX_MODEL_CHARS)
}

/// The provider of a route: what the response named, else what was requested, else [`UNKNOWN`].
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

/// Whether a logical call of this role that ended this way counts as a route.
///
/// A primary call, or one without a role, counts however it ended. An auxiliary call counts when
/// its outcome is a listed one. Calls of any other role do not count.
pub fn counts(role: Option<&str>, outcome: &str) -> bool {
    match normalise_given(role).as_ref() {
        "" | "primary" => true,
        role if role.starts_with(AUXILIARY_PREFIX) => {
            ModelCallOutcome::parse(&normalise(outcome)).is_some()
        }
        _ => false,
    }
}
