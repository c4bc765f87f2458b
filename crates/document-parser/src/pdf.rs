//! The text of PDF files.

mod budget;
mod page;

use std::time::{Duration, Instant};

use lopdf::{Document, Object};

use crate::rejection::Rejection;

/// Time limit after which no further page is read; the text so far is the result. The first page
/// with text is always read: other limits end a document that takes too long.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(7);
const MAX_PAGES: usize = 5000;
const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pdf {
    pub(crate) title: Option<String>,
    pub(crate) author: Option<String>,
    /// The day of creation, as in `2024-02-29`.
    pub(crate) created_on: Option<String>,
    /// The text, with an empty line between pages.
    pub(crate) text: String,
    pub(crate) is_truncated: bool,
}

/// Reads a PDF: its first page, and others until the deadline.
pub(crate) fn text(bytes: &[u8], deadline: Instant) -> Result<Pdf, Rejection> {
    let (document, mut budget) = budget::load(bytes)?;
    if document.is_encrypted() {
        return Err(Rejection::EncryptedPdf);
    }
    let pages = document.get_pages();
    let mut read = Pdf {
        title: metadata(&document, b"Title"),
        author: metadata(&document, b"Author"),
        created_on: metadata(&document, b"CreationDate").and_then(|date| day(&date)),
        is_truncated: pages.len() > MAX_PAGES,
        ..Pdf::default()
    };
    for page in pages.values().take(MAX_PAGES) {
        let is_late = !read.text.is_empty() && Instant::now() >= deadline;
        if is_late || read.text.len() >= MAX_TEXT_BYTES {
            read.is_truncated = true;
            break;
        }
        if !read.text.is_empty() {
            read.text.push_str("\n\n");
        }
        page::append(&document, *page, &mut budget, &mut read.text);
        read.text.truncate(read.text.trim_end().len());
    }
    if read.text.len() > MAX_TEXT_BYTES {
        read.text.truncate(read.text.floor_char_boundary(MAX_TEXT_BYTES));
        read.is_truncated = true;
    }
    if read.text.is_empty() { Err(Rejection::PdfWithoutText) } else { Ok(read) }
}

fn metadata(document: &Document, name: &[u8]) -> Option<String> {
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
mod tests;
