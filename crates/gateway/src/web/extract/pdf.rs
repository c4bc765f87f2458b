//! The text of a PDF, page by page, within limits.

use lopdf::{Document as Pdf, LoadOptions, Object};

use super::{Document, MAX_LINE, line};
use crate::web::fault::Fault;

/// What one stream of the file may unpack to.
const MAX_STREAM_BYTES: usize = 16 * 1024 * 1024;
/// The most pages and characters that are read.
const MAX_PAGES: usize = 2000;
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// What a PDF says.
pub(super) fn document(bytes: &[u8]) -> Result<Document, Fault> {
    let options =
        LoadOptions { max_decompressed_size: Some(MAX_STREAM_BYTES), ..LoadOptions::default() };
    let pdf = Pdf::load_mem_with_options(bytes, options)
        .map_err(|_| Fault::Unreadable("is a PDF that cannot be opened"))?;
    if pdf.is_encrypted() {
        return Err(Fault::Unreadable("is a PDF that needs a password"));
    }
    let mut content = String::new();
    for (number, _) in pdf.get_pages().into_iter().take(MAX_PAGES) {
        for chunk in pdf.extract_text_chunks_with_limit(&[number], MAX_STREAM_BYTES) {
            content.push_str(&chunk.unwrap_or_default());
        }
        if content.len() > MAX_TEXT_BYTES {
            break;
        }
        content.push_str("\n\n");
    }
    let content = tidied(&content);
    if content.is_empty() {
        return Err(Fault::Unreadable("is a PDF without text; it may be a scan"));
    }
    Ok(Document {
        title: info(&pdf, b"Title"),
        byline: info(&pdf, b"Author"),
        published_at: info(&pdf, b"CreationDate").and_then(|date| day(&date)),
        content,
        ..Document::default()
    })
}

/// Lines without spaces at their ends, and no more than one empty line between them.
fn tidied(text: &str) -> String {
    let mut out = String::new();
    let mut empty = 0;
    for line in text.lines() {
        let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
        let line = line.trim_end();
        if line.trim().is_empty() {
            empty += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        out.push_str(line);
    }
    out
}

fn info(pdf: &Pdf, name: &[u8]) -> Option<String> {
    let info = pdf.trailer.get(b"Info").ok()?;
    let info = match info {
        Object::Reference(id) => pdf.get_dictionary(*id).ok()?,
        other => other.as_dict().ok()?,
    };
    let text = lopdf::decode_text_string(info.get(name).ok()?).ok()?;
    line(&text, MAX_LINE)
}

/// The day of a date such as `D:20240229120000+01'00'`.
fn day(date: &str) -> Option<String> {
    let digits = date.strip_prefix("D:").unwrap_or(date);
    let (year, month, day) = (digits.get(..4)?, digits.get(4..6)?, digits.get(6..8)?);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(year) && is_number(month) && is_number(day)).then(|| format!("{year}-{month}-{day}"))
}
