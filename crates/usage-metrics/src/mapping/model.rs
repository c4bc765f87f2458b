//! Models to families, by the words in their names, and the outcomes of model calls.

use super::{first_given, normalise, normalise_given};
use crate::catalogue::{ModelCallOutcome, ModelFamily};

#[cfg(test)]
mod tests;

/// What parts the words of a model's name.
const SEPARATORS: [char; 5] = ['/', '_', '.', ':', '-'];

/// The family of a model.
///
/// A declared family wins, unless it is `unknown` or not listed. Otherwise the name that the
/// response gave, or the requested one when the response gave none, is searched for the leftmost
/// word that is a family's name, alone or with a version number right behind it: `qwen3-coder`
/// has one, `codellama` has none.
pub fn family(
    declared: Option<&str>,
    response_model: Option<&str>,
    requested_model: Option<&str>,
) -> ModelFamily {
    ModelFamily::parse(&normalise_given(declared))
        .filter(|family| *family != ModelFamily::Unknown)
        .or_else(|| {
            first_given(response_model, requested_model).split(SEPARATORS).find_map(family_of_word)
        })
        .unwrap_or(ModelFamily::Unknown)
}

/// The family whose name the word is, digits and what follows them aside; the longest name if
/// several fit.
fn family_of_word(word: &str) -> Option<ModelFamily> {
    ModelFamily::ALL
        .iter()
        .copied()
        .filter(|family| *family != ModelFamily::Unknown)
        .filter(|family| {
            // Many names are written with capitals; a copy in lower case is not worth making.
            word.split_at_checked(family.text().len()).is_some_and(|(head, rest)| {
                head.eq_ignore_ascii_case(family.text())
                    && rest.bytes().next().is_none_or(|next| next.is_ascii_digit())
            })
        })
        .max_by_key(|family| family.text().len())
}

/// How a model call ended; whatever is not listed has failed.
pub fn outcome(raw: &str) -> ModelCallOutcome {
    ModelCallOutcome::parse(&normalise(raw)).unwrap_or(ModelCallOutcome::Failed)
}
