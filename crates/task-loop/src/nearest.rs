//! Suggestions for misspelled names.

/// How alike a name must be to be suggested, from 0 to 1.
const ALIKE: f64 = 0.5;
/// The name that was probably meant.
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
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_unless_none_is_near() {
        let known = ["github", "files", "docs"];
        assert_eq!(nearest("gihtub", known), Some("github"));
        assert_eq!(nearest("dcos", known), Some("docs"));
        assert_eq!(nearest("Files", known), Some("files"));
        assert_eq!(nearest("zzz", known), None);
    }
}
