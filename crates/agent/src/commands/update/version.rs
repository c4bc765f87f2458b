//! Versions, compared as semantic versions are.

use std::cmp::Ordering;
use std::fmt;

use wire::download::is_name;

/// A version such as `1.2.3` or `1.2.3-rc.1`.
#[derive(Debug, Clone)]
pub(super) struct Version {
    text: String,
    numbers: Vec<u64>,
    /// What stands behind a hyphen: such a version comes before the one without.
    before: Vec<String>,
}

impl Version {
    /// The version of this program.
    pub(super) fn of_this() -> Self {
        let text = env!("CARGO_PKG_VERSION");
        // The manifest of this crate has a version that can be read: a test looks.
        Self::parse(text).unwrap_or(Self {
            text: text.to_owned(),
            numbers: Vec::new(),
            before: Vec::new(),
        })
    }

    /// Reads a version. A `v` before it is allowed, and what stands behind a `+` does not count.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !is_name(text) {
            return None;
        }
        let shown = text.strip_prefix('v').unwrap_or(text);
        let counted = shown.split('+').next()?;
        let (numbers, before) = match counted.split_once('-') {
            Some((numbers, before)) => (numbers, Some(before)),
            None => (counted, None),
        };
        let is_number =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let numbers: Option<Vec<u64>> =
            numbers.split('.').map(|part| part.parse().ok().filter(|_| is_number(part))).collect();
        let before: Vec<String> =
            before.into_iter().flat_map(|before| before.split('.')).map(str::to_owned).collect();
        let is_whole = !before.iter().any(String::is_empty);
        let numbers = numbers.filter(|_| is_whole)?;
        Some(Self { text: shown.to_owned(), numbers, before })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        let number = |version: &Self, place: usize| version.numbers.get(place).copied();
        let numbers = (0..length)
            .map(|place| number(self, place).unwrap_or(0).cmp(&number(other, place).unwrap_or(0)));
        let by_number = numbers.fold(Ordering::Equal, Ordering::then);
        let by_ending = match (self.before.is_empty(), other.before.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let pairs = self.before.iter().zip(&other.before);
                let by_pair = pairs.map(|(one, two)| word(one, two));
                by_pair
                    .fold(Ordering::Equal, Ordering::then)
                    .then(self.before.len().cmp(&other.before.len()))
            }
        };
        by_number.then(by_ending)
    }
}

/// Numbers by their size and before words, words by their letters.
fn word(one: &str, two: &str) -> Ordering {
    match (one.parse::<u64>(), two.parse::<u64>()) {
        (Ok(one), Ok(two)) => one.cmp(&two),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => one.cmp(two),
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_an_order() {
        let order = [
            "0.0.9",
            "0.1",
            "0.1.1-alpha",
            "0.1.1-alpha.1",
            "0.1.1-alpha.beta",
            "0.1.1-beta.2",
            "0.1.1-beta.11",
            "0.1.1-rc.1",
            "0.1.1",
            "0.1.10",
            "0.2",
            "1",
            "v1.0.1",
            "10.0.0",
        ];
        let versions: Vec<Version> =
            order.iter().map(|text| Version::parse(text).unwrap()).collect();
        for (place, one) in versions.iter().enumerate() {
            for (other, two) in versions.iter().enumerate() {
                assert_eq!(one.cmp(two), place.cmp(&other), "{one} {two}");
            }
        }
        assert_eq!(Version::parse("1.0"), Version::parse("v1.0.0+build.7"));
    }

    #[test]
    fn what_is_no_version_is_none() {
        let long = format!("1.{}", "9".repeat(30));
        for wrong in ["", "v", "1.", ".1", "one", "1.x", "1..2", "1-", "1-a..b", "+1", "1 2", &long]
        {
            assert!(Version::parse(wrong).is_none(), "{wrong}");
        }
        assert!(!Version::of_this().numbers.is_empty());
    }
}
