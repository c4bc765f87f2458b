//! Families of models by the words in their names.

use crate::catalogue::ModelFamily;

#[cfg(test)]
mod tests;

const SEPARATORS: [char; 5] = ['/', '_', '.', ':', '-'];

/// The family of a model.
///
/// The name in the response, or else the requested name, is searched for the first word that is the
/// name of a family, optionally followed by a version number: `qwen3-coder` matches, `codellama`
/// does not.
pub fn family(response_model: Option<&str>, requested_model: Option<&str>) -> ModelFamily {
    [response_model, requested_model]
        .into_iter()
        .flatten()
        .map(str::trim)
        .find(|name| !name.is_empty())
        .and_then(|name| name.split(SEPARATORS).find_map(family_of_word))
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
