//! The fast path: accepts valid entries in the usual form.
//!
//! It never rejects. It gives up on escapes, unusual numbers, unordered keys in `dimensions`, an
//! entry in the last bytes of the document, and errors; the rule checker then reads the entry
//! again. A property test compares both.

use super::short_text::{CATALOGUE_TEXTS, CatalogueTexts, DomainTexts, KindTexts, ShortText};
use crate::catalogue::{Kind, is_identifier_byte};

/// Maximum number of digits of a counter value here.
const MAX_DIGITS: usize = 18;

/// Words of the longest field of an entry, dimension value and kind name, each with its quote.
const FIELD_WORDS: usize = 2;
const VALUE_WORDS: usize = 3;
const NAME_WORDS: usize = 4;

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
    let atoms = &*CATALOGUE_TEXTS;
    let mut at = expect(bytes, at, b'{')?;
    let mut seen = 0_u8;
    let mut kind: Option<&KindTexts> = None;
    let mut dimensions: Option<(usize, usize)> = None;
    let mut one = false;
    loop {
        at = space(bytes, at);
        let (key, value_at) = key(bytes, at)?;
        let field = atoms.keys.find(&key)?;
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
                let (found, end) = name(bytes, value_at, atoms)?;
                kind = Some(found);
                end
            }
            2 => counter_type(bytes, value_at)?,
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

fn name<'a>(bytes: &[u8], at: usize, atoms: &'a CatalogueTexts) -> Option<(&'a KindTexts, usize)> {
    let (atom, end) = string::<NAME_WORDS>(bytes, at)?;
    Some((atoms.kinds.get(atoms.names.find(&atom)?)?, end))
}

fn counter_type(bytes: &[u8], at: usize) -> Option<usize> {
    const TEXT: &[u8] = b"\"counter\"";
    bytes.get(at..)?.starts_with(TEXT).then_some(at + TEXT.len())
}

/// The end of the dimensions at `at`, with ordered keys.
#[inline]
fn check_dimensions(bytes: &[u8], at: usize, kind: &KindTexts) -> Option<usize> {
    let mut at = space(bytes, expect(bytes, at, b'{')?);
    let mut first = true;
    for (expected, domain) in &kind.dimensions {
        if !first {
            at = space(bytes, expect(bytes, at, b',')?);
        }
        first = false;
        at = expected.skip(bytes, expect(bytes, at, b'"')?)?;
        let value_at = space(bytes, expect(bytes, space(bytes, at), b':')?);
        let end = match domain {
            DomainTexts::Listed(values) => {
                let (value, end) = string::<VALUE_WORDS>(bytes, value_at)?;
                values.find(&value)?;
                end
            }
            DomainTexts::Identifier { max_chars } => identifier(bytes, value_at, *max_chars)?,
        };
        at = space(bytes, end);
    }
    expect(bytes, at, b'}')
}

#[inline]
fn key(bytes: &[u8], at: usize) -> Option<(ShortText, usize)> {
    let (atom, at) = string::<FIELD_WORDS>(bytes, at)?;
    let at = expect(bytes, space(bytes, at), b':')?;
    Some((atom, space(bytes, at)))
}

#[inline]
fn string<const WORDS: usize>(bytes: &[u8], at: usize) -> Option<(ShortText, usize)> {
    let at = expect(bytes, at, b'"')?;
    let (atom, length) = ShortText::read::<WORDS>(bytes, at)?;
    Some((atom, at + length + 1))
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
