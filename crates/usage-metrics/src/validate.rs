//! The validator: exactly the specification.
//!
//! [`validate`] reads the bytes once. A fast path (`fast_path`) accepts entries in the usual form;
//! everything else goes to `rules`, which knows every rule and every form of JSON and reports all
//! violations with their positions. Both read the catalogue; neither allocates for a valid package.
//!
//! What the specification leaves open is checked by [`lint`](crate::lint).

mod datetime;
mod fast_path;
mod findings;
mod nearest;
mod number;
mod rules;
mod scan;
mod violation;

#[cfg(test)]
mod tests;

pub use datetime::{DAY_SECONDS, DateTime, is_date_time, parse_date_time};
pub(crate) use findings::positions;
pub(crate) use number::parse_count;
pub use scan::MAX_DEPTH;
pub use violation::{Allowed, MAX_FOUND_CHARS, Problem, Violation};

use findings::Findings;
use rules::{FastPath, RuleChecker};

/// The default limit of described violations. All are counted.
pub const MAX_VIOLATIONS: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The violations, in the order of the document.
    pub violations: Vec<Violation>,
    /// The number of violations, including those beyond the limit.
    pub total: u64,
    pub entries: u64,
}

impl Verdict {
    pub fn is_valid(&self) -> bool {
        self.total == 0
    }
}

pub fn validate(document: &[u8]) -> Verdict {
    validate_with(document, MAX_VIOLATIONS)
}

pub fn validate_with(document: &[u8], max_violations: usize) -> Verdict {
    run(document, max_violations, fast_path::entry)
}

/// Validates without the fast path, as a reference for tests.
#[doc(hidden)]
pub fn validate_without_fast_path(document: &[u8]) -> Verdict {
    run(document, MAX_VIOLATIONS, |_, _| None)
}

fn run(document: &[u8], max_violations: usize, fast_path: FastPath) -> Verdict {
    let mut findings = Findings::new(max_violations);
    let text = match std::str::from_utf8(document) {
        Ok(text) => text,
        Err(error) => {
            let offset = error.valid_up_to();
            let found = match document.get(offset) {
                Some(byte) => format!("invalid UTF-8 byte 0x{byte:02x}"),
                None => "incomplete UTF-8 sequence at the end".to_owned(),
            };
            findings.encoding(offset, found);
            let valid = document.get(..offset).and_then(|head| std::str::from_utf8(head).ok());
            return findings.into_verdict(valid.unwrap_or_default(), 0);
        }
    };
    let mut checker = RuleChecker::new(text, findings, fast_path);
    checker.document();
    let (findings, entries) = checker.finish();
    findings.into_verdict(text, entries)
}

/// Whether the text is a valid UUID: lower-case hex, version 1 to 5, variant 8 to b.
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
