//! Families of models by the words in their names, and outcomes of model calls.

use super::{first_non_empty, normalise, normalise_optional};
use crate::catalogue::{ModelCallOutcome, ModelFamily};

#[cfg(test)]
mod tests;

const SEPARATORS: [char; 5] = ['/', '_', '.', ':', '-'];

/// The family of a model.
///
/// A declared family wins, unless it is `unknown` or not listed. Otherwise the name in the
/// response, or else the requested name, is searched for the first word that is the name of a
/// family, optionally followed by a version number: `qwen3-coder` matches, `codellama` does not.
pub fn family(
    declared: Option<&str>,
    response_model: Option<&str>,
    requested_model: Option<&str>,
) -> ModelFamily {
    ModelFamily::parse(&normalise_optional(declared))
        .filter(|family| *family != ModelFamily::Unknown)
        .or_else(|| {
            first_non_empty(response_model, requested_model)
                .split(SEPARATORS)
                .find_map(family_of_word)
        })
        .unwrap_or(ModelFamily::Unknown)
}

/// The family with the longest name that the word starts with, ignoring a version number.
fn family_of_word(word: &str) -> Option<ModelFamily> {
    ModelFamily::ALL
        .iter()
        .copied()
        .filter(|family| *family != ModelFamily::Unknown)
        .filter(|family| {
            // Compared without a lower-case copy.
            word.split_at_checked(family.text().len()).is_some_and(|(head, rest)| {
                head.eq_ignore_ascii_case(family.text())
                    && rest.bytes().next().is_none_or(|next| next.is_ascii_digit())
            })
        })
        .max_by_key(|family| family.text().len())
}

/// The outcome of a model call; unlisted outcomes are failures.
pub fn outcome(raw: &str) -> ModelCallOutcome {
    ModelCallOutcome::parse(&normalise(raw)).unwrap_or(ModelCallOutcome::Failed)
}
