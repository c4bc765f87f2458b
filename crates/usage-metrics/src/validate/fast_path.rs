//! The fast path: accepts valid entries in the usual form.
//!
//! It never rejects. It gives up on escapes, unusual numbers, unordered keys in `dimensions`, and
//! errors; the rule checker then reads the entry again. A property test compares both.

use crate::catalogue::{COUNTER_TYPE, Domain, KINDS, Kind, KindSpec, NAMES, is_identifier_byte};

/// The fields of a metric entry, sorted.
pub(super) const ENTRY_KEYS: &[&str] = &["dimensions", "name", "type", "value"];

/// Maximum number of digits of a counter value here.
const MAX_DIGITS: usize = 18;

/// The bytes that are allowed in an identifier after the first.
static IDENTIFIER: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = is_identifier_byte(byte, false);
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

pub(super) fn entry(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = expect(bytes, at, b'{')?;
    let mut seen = 0_u8;
    let mut kind: Option<&KindSpec> = None;
    let mut dimensions: Option<(usize, usize)> = None;
    let mut one = false;
    loop {
        let (field, end) = listed(bytes, space(bytes, at), ENTRY_KEYS)?;
        let value_at = colon(bytes, end)?;
        if seen & (1 << field) != 0 {
            return None;
        }
        seen |= 1 << field;
        at = match field {
            // The name may follow, so this is skipped first. No valid text contains a brace.
            0 => {
                let end = 1 + value_at + memchr::memchr(b'}', bytes.get(value_at..)?)?;
                dimensions = Some((value_at, end));
                end
            }
            1 => {
                let (index, end) = listed(bytes, value_at, NAMES)?;
                kind = KINDS.get(index);
                end
            }
            2 => listed(bytes, value_at, &[COUNTER_TYPE])?.1,
            _ => {
                let end = digits(bytes, value_at)?;
                one = bytes.get(value_at..end)? == b"1";
                end
            }
        };
        at = space(bytes, at);
        match bytes.get(at)? {
            b',' => at += 1,
            b'}' => break,
            _ => return None,
        }
    }
    let (kind, (start, end)) = (kind?, dimensions?);
    let legal = seen == 0b1111
        && (one || kind.kind != Kind::ClientActive)
        && check_dimensions(bytes, start, kind)? == end;
    legal.then_some(at + 1)
}

/// The end of the dimensions at `at`, with ordered keys.
#[inline]
fn check_dimensions(bytes: &[u8], at: usize, kind: &KindSpec) -> Option<usize> {
    let mut at = space(bytes, expect(bytes, at, b'{')?);
    for (index, dimension) in kind.dimensions.iter().enumerate() {
        if index > 0 {
            at = space(bytes, expect(bytes, at, b',')?);
        }
        let (_, end) = listed(bytes, at, &[dimension.key])?;
        let value_at = colon(bytes, end)?;
        let end = match dimension.domain {
            Domain::Listed(texts) => listed(bytes, value_at, texts)?.1,
            Domain::Identifier { max_chars } => identifier(bytes, value_at, max_chars)?,
        };
        at = space(bytes, end);
    }
    expect(bytes, at, b'}')
}

/// The index of the quoted text at `at`, and the position after it.
#[inline]
fn listed(bytes: &[u8], at: usize, texts: &[&str]) -> Option<(usize, usize)> {
    let start = expect(bytes, at, b'"')?;
    let rest = bytes.get(start..)?;
    // Two bytes exclude most texts without a call.
    let is_here = |text: &&str| {
        let text = text.as_bytes();
        text.first() == rest.first()
            && rest.get(text.len()) == Some(&b'"')
            && rest.starts_with(text)
    };
    let index = texts.iter().position(is_here)?;
    Some((index, start + texts[index].len() + 1))
}

/// The position of the value after a key that ends at `at`.
#[inline]
fn colon(bytes: &[u8], at: usize) -> Option<usize> {
    Some(space(bytes, expect(bytes, space(bytes, at), b':')?))
}

fn identifier(bytes: &[u8], at: usize, max_chars: usize) -> Option<usize> {
    let at = expect(bytes, at, b'"')?;
    let text = bytes.get(at..)?;
    if !is_identifier_byte(*text.first()?, true) {
        return None;
    }
    let length = text.iter().position(|byte| !IDENTIFIER[usize::from(*byte)])?;
    (length <= max_chars && text[length] == b'"').then_some(at + length + 1)
}

fn digits(bytes: &[u8], at: usize) -> Option<usize> {
    let text = bytes.get(at..)?;
    let length = text.iter().take(MAX_DIGITS + 1).position(|byte| !byte.is_ascii_digit())?;
    let starts_well = matches!(text.first()?, b'1'..=b'9');
    let ends_well = matches!(text[length], b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
    (starts_well && ends_well).then_some(at + length)
}

#[inline]
fn expect(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    (*bytes.get(at)? == byte).then_some(at + 1)
}

#[inline]
fn space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests;
