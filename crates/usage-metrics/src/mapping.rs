//! From raw facts to the values of the catalogue.
//!
//! This module owns normalisation: which listed value a raw word, number or address stands for.
//! Every function is pure. Facts come in as parameters; nothing here reads the environment, the
//! home directory or the clock, and nothing remembers an earlier call.
//!
//! It does not own counting: which events count, how often, and where the sums live is the
//! recorder's affair. Nor does it judge packages; the validator and the lint do, and they borrow
//! only [`task::Ending`] and [`skill::is_coherent`] from here.
//!
//! One rule holds for every word: space around it and its case mean nothing, and a word that is
//! in no list becomes `unknown`, or what the dimension has in its place.

use std::borrow::Cow;

pub mod bucket;
pub mod locality;
pub mod model;
pub mod provider;
pub mod resource;
pub mod route;
pub mod skill;
pub mod task;
pub mod tool;

#[cfg(test)]
mod tests;

/// Stands for a version or an identifier that cannot be told.
pub const UNKNOWN: &str = "unknown";

/// The word without space around it and in lower case; copied only where that changes it.
fn normalise(raw: &str) -> Cow<'_, str> {
    let trimmed = raw.trim();
    // Almost every word is ASCII and lower case already. Whether other letters have a lower case
    // is left to the standard library.
    if trimmed.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(trimmed.to_lowercase())
    }
}

/// The same for a word that may be missing: missing is empty.
fn normalise_given(raw: Option<&str>) -> Cow<'_, str> {
    normalise(raw.unwrap_or_default())
}

/// The first of two words that says anything, without space around it; empty when neither does.
fn first_given<'a>(first: Option<&'a str>, second: Option<&'a str>) -> &'a str {
    [first, second].into_iter().flatten().map(str::trim).find(|word| !word.is_empty()).unwrap_or("")
}
