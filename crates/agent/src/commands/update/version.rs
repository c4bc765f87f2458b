//! Versions, compared by semantic versioning.

use std::cmp::Ordering;
use std::fmt;

use wire::download::is_name;

/// A version such as `1.2.3`, `1.2` or `1.2.3-rc.1`.
#[derive(Debug, Clone)]
pub(super) struct Version {
    text: String,
    parsed: semver::Version,
}

impl Version {
    pub(super) fn of_this() -> Self {
        let text = env!("CARGO_PKG_VERSION");
        // A test checks that the version of the manifest can be parsed.
        let unknown = || Self { text: text.to_owned(), parsed: semver::Version::new(0, 0, 0) };
        Self::parse(text).unwrap_or_else(unknown)
    }

    /// Accepts a leading `v`, and one or two numbers in place of three.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !is_name(text) {
            return None;
        }
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, rest) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
        let missing = ".0".repeat(2_usize.saturating_sub(numbers.matches('.').count()));
        let parsed = semver::Version::parse(&format!("{numbers}{missing}{rest}")).ok()?;
        Some(Self { text: text.to_owned(), parsed })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parsed.cmp_precedence(&other.parsed)
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
        assert!(Version::parse(env!("CARGO_PKG_VERSION")).is_some());
    }
}
