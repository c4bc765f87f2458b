//! The catalogue of counters: one table, and the types and data generated from it.
//!
//! [`KINDS`] describes every kind of counter with its dimensions and their values. The validator,
//! the JSON Schema, the dense index of the recorder and the catalogue page all read it. For code
//! that counts, the same table generates a struct for each closed kind ([`ToolCall`],
//! [`TaskFinished`], …) whose fields only hold valid values.

mod cell;
mod define;
mod page;
mod table;

use cell::OFFSETS;
pub use cell::{Cell, Event};
pub use page::markdown;
pub use table::*;

pub const SCHEMA_VERSION: &str = "agent.shared_metrics.v2";

/// The `type` of every metric entry.
pub const COUNTER_TYPE: &str = "counter";

/// Maximum length of `agent_version`, in characters.
pub const MAX_VERSION_CHARS: usize = 64;

#[derive(Debug)]
pub struct KindSpec {
    pub kind: Kind,
    pub name: &'static str,
    pub summary: &'static str,
    /// The keys of the dimensions, sorted.
    pub keys: &'static [&'static str],
    pub dimensions: &'static [DimensionSpec],
}

/// Description of a dimension, or of a listed resource field.
#[derive(Debug)]
pub struct DimensionSpec {
    pub key: &'static str,
    pub summary: &'static str,
    pub domain: Domain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    Listed(&'static [&'static str]),
    /// An identifier: a lower-case letter or digit, then lower-case letters, digits and
    /// `. _ : / @ + -`.
    Identifier {
        max_chars: usize,
    },
}

impl Kind {
    pub fn spec(self) -> &'static KindSpec {
        &KINDS[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.spec().name
    }

    pub fn parse(name: &str) -> Option<Kind> {
        KINDS.iter().find(|spec| spec.name == name).map(|spec| spec.kind)
    }

    /// The number of distinct counters of a closed kind; `None` for the open kind.
    pub fn cardinality(self) -> Option<u32> {
        let count = OFFSETS[self as usize + 1] - OFFSETS[self as usize];
        (count > 0).then_some(count)
    }
}

/// Whether a byte is allowed in an identifier; `first` is true for the first byte.
#[must_use]
pub const fn is_identifier_byte(byte: u8, first: bool) -> bool {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' => true,
        b'.' | b'_' | b':' | b'/' | b'@' | b'+' | b'-' => !first,
        _ => false,
    }
}

/// Whether the text is an identifier of at most `max_chars` characters.
pub fn is_identifier(text: &str, max_chars: usize) -> bool {
    !text.is_empty()
        && text.len() <= max_chars
        && text.bytes().enumerate().all(|(at, byte)| is_identifier_byte(byte, at == 0))
}
