//! The text of PDF files, of strangers as well: a reading is confined to a time and to sizes, and
//! never fails the service.

mod page;

use std::time::{Duration, Instant};

use lopdf::{Document, LoadOptions, Object};

use crate::confined::{self, Failed};

/// The most pages that are read.
const MAX_PAGES: usize = 5000;
/// The most characters of text, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;
/// What one stream of the file may unpack to.
const MAX_STREAM_BYTES: usize = 32 * 1024 * 1024;

/// What a PDF says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pdf {
    /// As the file calls itself.
    pub(crate) title: Option<String>,
    /// Who wrote it.
    pub(crate) author: Option<String>,
    /// The day on which it was made, as in `2024-02-29`.
    pub(crate) made_on: Option<String>,
    /// The text of all pages, each line on one, an empty line between pages.
    pub(crate) text: String,
    /// Whether there was more than is read.
    pub(crate) is_cut: bool,
}

/// Why there is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// It is no PDF, or damaged.
    #[error("it is no PDF that can be read")]
    Damaged,
    /// It asks for a password.
    #[error("it is encrypted")]
    Encrypted,
    /// It has pages, but no text.
    #[error("it has no text, only pictures perhaps")]
    NoText,
    /// Reading it did not come to an end.
    #[error(transparent)]
    Failed(#[from] Failed),
}

/// Reads a PDF. This blocks for as long as it takes, at most `limit`.
pub(crate) fn read(bytes: Vec<u8>, limit: Duration) -> Result<Pdf, Unreadable> {
    let deadline = Instant::now() + limit;
    confined::run(limit, move || text(&bytes, deadline))?
}

/// Reads a PDF in this thread, no new page after the deadline.
pub(crate) fn text(bytes: &[u8], deadline: Instant) -> Result<Pdf, Unreadable> {
    let options = LoadOptions::with_max_decompressed_size(MAX_STREAM_BYTES);
    let document =
        Document::load_mem_with_options(bytes, options).map_err(|_| Unreadable::Damaged)?;
    if document.is_encrypted() {
        return Err(Unreadable::Encrypted);
    }
    let pages = document.get_pages();
    let mut read = Pdf {
        title: said(&document, b"Title"),
        author: said(&document, b"Author"),
        made_on: said(&document, b"CreationDate").and_then(|date| day(&date)),
        is_cut: pages.len() > MAX_PAGES,
        ..Pdf::default()
    };
    for page in pages.values().take(MAX_PAGES) {
        if Instant::now() >= deadline || read.text.len() >= MAX_TEXT_BYTES {
            read.is_cut = true;
            break;
        }
        if !read.text.is_empty() {
            read.text.push_str("\n\n");
        }
        page::append(&document, *page, MAX_STREAM_BYTES, &mut read.text);
        read.text.truncate(read.text.trim_end().len());
    }
    if read.text.len() > MAX_TEXT_BYTES {
        let end = (0..=MAX_TEXT_BYTES).rev().find(|end| read.text.is_char_boundary(*end));
        read.text.truncate(end.unwrap_or_default());
        read.is_cut = true;
    }
    if read.text.is_empty() { Err(Unreadable::NoText) } else { Ok(read) }
}

/// What the file says about itself.
fn said(document: &Document, name: &[u8]) -> Option<String> {
    let info = match document.trailer.get(b"Info").ok()? {
        Object::Reference(id) => document.get_dictionary(*id).ok()?,
        other => other.as_dict().ok()?,
    };
    let text = lopdf::decode_text_string(info.get(name).ok()?).ok()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    (!text.is_empty()).then_some(text)
}

/// The day of a date such as `D:20240229120000+01'00'`.
fn day(date: &str) -> Option<String> {
    let digits = date.strip_prefix("D:").unwrap_or(date);
    let (year, month, day) = (digits.get(..4)?, digits.get(4..6)?, digits.get(6..8)?);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(year) && is_number(month) && is_number(day)).then(|| format!("{year}-{month}-{day}"))
}

#[cfg(test)]
pub(crate) mod tests;
