//! How alike two names are, for "did you mean".

/// The least likeness of a name that is worth asking.
const LEAST_LIKENESS: f64 = 0.84;

/// The known name that is most like this one, if any is like it, and how much: 1 if they differ
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
