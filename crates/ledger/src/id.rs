//! Ids of members, key lineages and holds.

use std::fmt;

use serde::{Deserialize, Serialize};

const MEMBER_PREFIX: &str = "mem_";

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MemberId(pub i64);

impl MemberId {
    /// Parses exactly the output of [`fmt::Display`].
    pub fn parse(text: &str) -> Option<Self> {
        let id = Self(text.strip_prefix(MEMBER_PREFIX)?.parse().ok()?);
        (id.0 > 0 && id.to_string() == text).then_some(id)
    }
}

/// `mem_3`.
impl fmt::Display for MemberId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{MEMBER_PREFIX}{}", self.0)
    }
}

/// Id of an API key and all keys it was rotated into.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct LineageId(pub i64);

/// Id of a hold and of its receipt. The caller creates it and never uses it twice.
///
/// Ids grow with time, which keeps the newest rows together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(u128);

const PREFIX: &str = "req_";
const DIGITS: usize = 32;

impl HoldId {
    /// Combines the time in milliseconds, which sorts first, with 80 random bits.
    pub const fn new(time_ms: u64, random: u128) -> Self {
        Self(((time_ms as u128) << 80) | (random & ((1 << 80) - 1)))
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// The 16 bytes, in an order that sorts like the ids.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The 16 bytes as 32 digits.
    pub fn digits(self) -> String {
        let mut text = self.to_string();
        text.drain(..PREFIX.len());
        text
    }

    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (digits.len() == DIGITS && digits.bytes().all(is_lower_hex))
            .then(|| u128::from_str_radix(digits, 16).ok().map(Self))?
    }
}

impl fmt::Display for HoldId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Requests print their ids several times; `{:032x}` is much slower than this.
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; PREFIX.len() + DIGITS];
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.to_bytes()) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        formatter.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for HoldId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests;
