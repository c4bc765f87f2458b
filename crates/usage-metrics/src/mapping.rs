//! Maps raw facts to the values of the catalogue.
//!
//! Every function is pure: facts are parameters, and nothing reads the environment, the home
//! directory or the clock. Counting belongs to the recorder. The validator and the lint use only
//! [`task::TaskEnding`] and [`skill::is_coherent`] from here.
//!
//! Surrounding space and case of words are ignored, and an unlisted word becomes `unknown`, or the
//! equivalent of the dimension.

use std::borrow::Cow;

pub mod bucket;
pub mod locality;
pub mod model;
pub mod provider;
pub mod resource;
pub mod route;
pub mod skill;
pub mod task;

#[cfg(test)]
mod tests;

pub const UNKNOWN: &str = "unknown";

/// Trims a word and converts it to lower case; copies it only if that changes it.
fn normalise(raw: &str) -> Cow<'_, str> {
    let trimmed = raw.trim();
    // Almost every word is lower-case ASCII already.
    if trimmed.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(trimmed.to_lowercase())
    }
}

/// [`normalise`] for an optional word; a missing word is empty.
fn normalise_optional(raw: Option<&str>) -> Cow<'_, str> {
    normalise(raw.unwrap_or_default())
}
