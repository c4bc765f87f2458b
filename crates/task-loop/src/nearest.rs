//! Suggestions for misspelled names.

/// Minimum similarity of a suggested name, from 0 to 1.
const ALIKE: f64 = 0.5;
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| {
        strsim::normalized_damerau_levenshtein(&wrong.to_lowercase(), &name.to_lowercase())
    };
    known
        .into_iter()
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
