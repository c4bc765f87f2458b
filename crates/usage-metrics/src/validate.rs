//! The validator: exactly the specification, no more and no less.
//!
//! [`validate`] reads the bytes once. Entries written the usual way are accepted by a fast path
//! (`fast`) that can only say yes; whatever it does not recognise goes to the `judge`, which knows
//! every rule and every way of writing JSON, and reports all that is wrong with its place. Both
//! read the catalogue; neither allocates for a valid package.
//!
//! What the specification leaves open is not judged here but in [`lint`](crate::lint).

mod atoms;
mod datetime;
mod fast;
mod findings;
mod judge;
mod nearest;
mod number;
mod places;
mod scan;
mod violation;

#[cfg(test)]
mod tests;

pub use datetime::{DAY_SECONDS, Moment, is_date_time, parse_moment};
pub(crate) use number::whole_number;
pub(crate) use places::EntryPlaces;
pub use scan::MAX_DEPTH;
pub use violation::{Allowed, MAX_FOUND_CHARS, Problem, Violation};

use findings::Findings;
use judge::{Judge, Pace};

/// Violations that are described in full unless the caller says otherwise. All are counted.
pub const MAX_VIOLATIONS: usize = 10_000;

/// What became of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What is wrong, in the order of the document.
    pub violations: Vec<Violation>,
    /// How many violations there are, those beyond the limit included.
    pub total: u64,
    /// How many metric entries were seen.
    pub entries: u64,
}

impl Verdict {
    /// Whether the document is a valid package.
    pub fn is_valid(&self) -> bool {
        self.total == 0
    }
}

/// Judges a document.
pub fn validate(document: &[u8]) -> Verdict {
    validate_with(document, MAX_VIOLATIONS)
}

/// Judges a document and describes at most `max_violations` of its faults.
pub fn validate_with(document: &[u8], max_violations: usize) -> Verdict {
    run(document, max_violations, Pace::Fast)
}

/// Judges a document without the fast path: the reference that the fast path is held against.
#[doc(hidden)]
pub fn validate_carefully(document: &[u8]) -> Verdict {
    run(document, MAX_VIOLATIONS, Pace::Careful)
}

fn run(document: &[u8], max_violations: usize, pace: Pace) -> Verdict {
    let mut findings = Findings::new(max_violations);
    let text = match std::str::from_utf8(document) {
        Ok(text) => text,
        Err(error) => {
            let offset = error.valid_up_to();
            findings.encoding(offset, document.get(offset).copied());
            let valid = document.get(..offset).and_then(|head| std::str::from_utf8(head).ok());
            return findings.into_verdict(valid.unwrap_or_default(), 0);
        }
    };
    let mut judge = Judge::new(text, findings, pace);
    judge.document();
    let (findings, entries) = judge.finish();
    findings.into_verdict(text, entries)
}

/// Whether the text is a UUID of the package: lower-case hex, version 1 to 5, variant 8 to b.
pub fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            14 => matches!(byte, b'1'..=b'5'),
            19 => matches!(byte, b'8' | b'9' | b'a' | b'b'),
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}
