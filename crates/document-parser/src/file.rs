//! The text of files: plain text, Markdown, HTML and PDF.

use std::path::Path;
use std::time::Instant;

use encoding_rs::{Encoding, UTF_8};
use serde::{Deserialize, Serialize};

use crate::rejection::Rejection;
use crate::{markup, pdf};

const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
const MAX_HTML_BYTES: usize = 8 * 1024 * 1024;
/// Bytes checked for zeros, which text does not have.
const BINARY_CHECK_BYTES: usize = 8192;
/// Lines of a Markdown file that are searched for a title.
const TITLE_LINES: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileFormat {
    Text,
    Markdown,
    Html,
    Pdf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileText {
    pub title: Option<String>,
    pub text: String,
}

impl FileFormat {
    /// The format by file extension, if it is supported.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "txt" | "text" | "rst" | "adoc" | "org" | "csv" | "tsv" => Self::Text,
            "md" | "markdown" | "mdx" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            "pdf" => Self::Pdf,
            _ => return None,
        })
    }
}

pub(crate) fn read(format: FileFormat, bytes: &[u8]) -> Result<FileText, Rejection> {
    let mut file = match format {
        FileFormat::Text => FileText { title: None, text: decode(bytes)? },
        FileFormat::Markdown => markdown(decode(bytes)?),
        FileFormat::Html => html(bytes)?,
        FileFormat::Pdf => {
            let read = pdf::text(bytes, Instant::now() + pdf::MAX_TIME)?;
            FileText { title: read.title, text: read.text }
        }
    };
    file.text.truncate(file.text.floor_char_boundary(MAX_TEXT_BYTES));
    if file.text.trim().is_empty() {
        return Err(Rejection::NoText);
    }
    Ok(file)
}

/// Decodes UTF-8, UTF-16 with a byte order mark, or else Latin-1.
fn decode(bytes: &[u8]) -> Result<String, Rejection> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes).filter(|found| found.0 != UTF_8) {
        return Ok(encoding.decode(bytes).0.into_owned());
    }
    if bytes.iter().take(BINARY_CHECK_BYTES).any(|byte| *byte == 0) {
        return Err(Rejection::NotText);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => encoding_rs::mem::decode_latin1(bytes).into_owned(),
    })
}

/// Markdown unchanged, with its first heading as the title.
fn markdown(text: String) -> FileText {
    let heading = text.lines().take(TITLE_LINES).find_map(|line| {
        let title = line.trim_start().strip_prefix("# ")?.trim().trim_end_matches('#').trim();
        (!title.is_empty()).then(|| title.to_owned())
    });
    FileText { title: heading, text }
}

fn html(bytes: &[u8]) -> Result<FileText, Rejection> {
    if bytes.len() > MAX_HTML_BYTES {
        return Err(Rejection::TooLarge);
    }
    let text = decode(bytes)?;
    let content = markup::extract(&text);
    let mut titles = [content.title, content.heading].into_iter();
    let title = titles.find(|title| !title.trim().is_empty());
    Ok(FileText { title, text: markup::trim_lines(&content.text) })
}

#[cfg(test)]
mod tests;
