//! Similarity of names, for "did you mean".

/// Minimum similarity of a suggestion.
const LEAST_LIKENESS: f64 = 0.84;

/// The most similar known name, if any is similar enough, and its similarity: 1 if they differ
/// only in case, underscores and hyphens.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<(f64, &'k str)> {
    let plain = plainly(name);
    known
        .into_iter()
        .map(|known| {
            let same = plainly(known) == plain;
            (if same { 1.0 } else { strsim::jaro_winkler(known, name) }, known)
        })
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

/// A name without case, underscores and hyphens.
pub(crate) fn plainly(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}
