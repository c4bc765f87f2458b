//! Limits on the decompressed bytes and objects of a whole PDF.
//!
//! A few kilobytes of compressed zeros become millions of parsed objects of a hundred bytes each.
//! lopdf bounds single streams only, so object streams are counted here before it expands them.
//! Everything else is bounded by the memory limit of the worker.

use std::cell::Cell;
use std::mem;

use lopdf::{Document, LoadOptions, Object, ObjectId, Stream};

use crate::rejection::Rejection;

pub(super) const MAX_STREAM_BYTES: usize = 32 * 1024 * 1024;
const MAX_TOTAL_BYTES: usize = 256 * 1024 * 1024;
/// Maximum number of objects in object streams, and of operands of contents parsed at once.
pub(super) const MAX_OBJECTS: usize = 1_000_000;

/// The remaining bytes and objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    bytes: usize,
    objects: usize,
    is_exceeded: bool,
}

impl Budget {
    const FULL: Self = Self { bytes: MAX_TOTAL_BYTES, objects: MAX_OBJECTS, is_exceeded: false };

    pub(super) fn stream_bytes(&self) -> usize {
        self.bytes.min(MAX_STREAM_BYTES)
    }

    /// Counts the operands of a page or form before it is parsed; `None` if there are too many. The
    /// caller returns them after use.
    pub(super) fn take_content(&mut self, content: &[u8]) -> Option<usize> {
        self.bytes = self.bytes.saturating_sub(content.len());
        let operands = count_operands(content);
        self.objects = self.objects.checked_sub(operands)?;
        Some(operands)
    }

    pub(super) fn return_operands(&mut self, operands: usize) {
        self.objects += operands;
    }

    /// Counts an object stream; `None` if it exceeds the budget.
    fn take_object_stream(&mut self, stream: &Stream) -> Option<()> {
        // lopdf does not expand a stream that cannot be decompressed.
        let Ok(content) = stream.get_plain_content_with_limit(MAX_STREAM_BYTES) else {
            return Some(());
        };
        self.bytes = self.bytes.checked_sub(content.len())?;
        let first = stream.dict.get(b"First").and_then(Object::as_i64).unwrap_or_default();
        let (index, objects) = content.split_at_checked(usize::try_from(first).ok()?)?;
        let numbers: Vec<usize> = std::str::from_utf8(index)
            .unwrap_or_default()
            .split_whitespace()
            .map(|number| number.parse().unwrap_or(usize::MAX))
            .collect();
        for pair in numbers.chunks_exact(2) {
            // Several entries may have the same offset, and each of them is parsed.
            let object = objects.get(pair[1]..).unwrap_or_default();
            self.objects = self.objects.checked_sub(count_object(object, self.objects + 1))?;
        }
        Some(())
    }
}

thread_local! {
    /// Thread-local, because lopdf accepts only a plain function as its filter.
    static BUDGET: Cell<Budget> = const { Cell::new(Budget::FULL) };
}

/// Parses a PDF and returns the remaining budget.
pub(super) fn load(bytes: &[u8]) -> Result<(Document, Budget), Rejection> {
    BUDGET.set(Budget::FULL);
    let options = LoadOptions {
        filter: Some(filter),
        max_decompressed_size: Some(MAX_STREAM_BYTES),
        ..LoadOptions::default()
    };
    let document = Document::load_mem_with_options(bytes, options);
    let budget = BUDGET.get();
    if budget.is_exceeded {
        return Err(Rejection::TooLarge);
    }
    let document = document.map_err(|_| Rejection::DamagedPdf)?;
    // Contents of pages have a separate limit of objects.
    Ok((document, Budget { objects: MAX_OBJECTS, ..budget }))
}

/// Drops object streams beyond the budget. lopdf calls this for each object of the file, of which
/// it keeps the original, and for each object of an object stream, of which it keeps the result.
fn filter(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let Object::Stream(stream) = object else { return Some((id, object.clone())) };
    if stream.dict.has_type(b"ObjStm") {
        let mut budget = BUDGET.get();
        let taken = if budget.is_exceeded { None } else { budget.take_object_stream(stream) };
        budget.is_exceeded |= taken.is_none();
        BUDGET.set(budget);
        taken?;
    }
    // Streams are never in object streams.
    Some((id, Object::Null))
}

/// Counts the objects of the first object, including itself, up to `max`.
fn count_object(bytes: &[u8], max: usize) -> usize {
    let (mut rest, mut depth, mut count) = (bytes, 0_usize, 0_usize);
    while count < max {
        rest = match rest {
            [] => break,
            [byte, tail @ ..] if is_space(*byte) => {
                rest = tail;
                continue;
            }
            [b'%', tail @ ..] => {
                rest = skip_past(tail, |byte| matches!(byte, b'\r' | b'\n'));
                continue;
            }
            [b'<', b'<', tail @ ..] | [b'[', tail @ ..] => {
                depth += 1;
                tail
            }
            [b'>', b'>', tail @ ..] | [b']', tail @ ..] => {
                depth = depth.saturating_sub(1);
                rest = tail;
                if depth == 0 {
                    break;
                }
                continue;
            }
            [b'(', tail @ ..] => skip_string(tail),
            [b'<', tail @ ..] => skip_past(tail, |byte| byte == b'>'),
            [_, tail @ ..] => {
                let end = tail.iter().position(|byte| is_space(*byte) || is_delimiter(*byte));
                tail.get(end.unwrap_or(tail.len())..).unwrap_or_default()
            }
        };
        count += 1;
        if depth == 0 {
            break;
        }
    }
    count
}

/// The bytes after the first byte that matches.
fn skip_past(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|byte| is_end(*byte));
    end.and_then(|end| bytes.get(end + 1..)).unwrap_or_default()
}

/// The bytes after a string in parentheses, without the first parenthesis.
fn skip_string(bytes: &[u8]) -> &[u8] {
    let (mut depth, mut is_escaped) = (1_usize, false);
    for (index, byte) in bytes.iter().enumerate() {
        if mem::take(&mut is_escaped) {
            continue;
        }
        match byte {
            b'\\' => is_escaped = true,
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return bytes.get(index + 1..).unwrap_or_default();
        }
    }
    &[]
}

/// An upper bound of the operands and operators: words in strings and image data count too, so that
/// nothing can hide in them.
fn count_operands(content: &[u8]) -> usize {
    let (mut count, mut is_word) = (0, false);
    for byte in content {
        if is_delimiter(*byte) {
            count += 1;
            is_word = false;
        } else if is_space(*byte) {
            is_word = false;
        } else {
            count += usize::from(!is_word);
            is_word = true;
        }
    }
    count
}

fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

#[cfg(test)]
mod tests;
