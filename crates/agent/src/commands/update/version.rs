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
mod tests;
