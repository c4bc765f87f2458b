//! What files say: plain text, Markdown, HTML and PDF.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::rejection::Rejection;
use crate::{markup, pdf};

/// After this time no further page of a PDF is read.
const MAX_PDF_TIME: Duration = Duration::from_secs(7);
/// The most text that is kept of one file, in bytes.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// The largest HTML file that is read.
const MAX_HTML_BYTES: usize = 8 * 1024 * 1024;
/// How much of a file is looked at to see that it is no text.
const LOOKED_AT: usize = 8192;
/// How much of a Markdown file is looked at for a title, in lines.
const TITLE_LINES: usize = 50;

/// What a file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileFormat {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
    /// PDF.
    Pdf,
}

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// The title, where the file has one.
    pub title: Option<String>,
    /// All of the text.
    pub text: String,
}

impl FileFormat {
    /// The format of a file of this name, if it is supported.
    pub fn of(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match end.as_str() {
            "txt" | "text" | "rst" | "adoc" | "org" | "csv" | "tsv" => Self::Text,
            "md" | "markdown" | "mdx" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            "pdf" => Self::Pdf,
            _ => return None,
        })
    }
}

/// Reads the text of a file.
pub(crate) fn read(format: FileFormat, bytes: &[u8]) -> Result<FileText, Rejection> {
    let mut said = match format {
        FileFormat::Text => FileText { title: None, text: decode(bytes)? },
        FileFormat::Markdown => markdown(decode(bytes)?),
        FileFormat::Html => html(bytes)?,
        FileFormat::Pdf => {
            let read = pdf::text(bytes, Instant::now() + MAX_PDF_TIME)?;
            FileText { title: read.title, text: read.text }
        }
    };
    if said.text.len() > MAX_TEXT_BYTES {
        let end = (0..=MAX_TEXT_BYTES).rev().find(|end| said.text.is_char_boundary(*end));
        said.text.truncate(end.unwrap_or_default());
    }
    if said.text.trim().is_empty() {
        return Err(Rejection::NoText);
    }
    Ok(said)
}

/// The text of bytes: UTF-8, UTF-16 where it says so, otherwise Latin-1.
fn decode(bytes: &[u8]) -> Result<String, Rejection> {
    let utf16 = |units: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = units.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units)
            .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => return Ok(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => return Ok(utf16(rest, u16::from_be_bytes)),
        _ => {}
    }
    if bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0) {
        return Err(Rejection::NotText);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    })
}

/// Markdown is read as it is; its first heading is its title.
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
    let said = markup::read(&text);
    let mut titles = [said.title, said.heading].into_iter();
    let title = titles.find(|title| !title.trim().is_empty());
    Ok(FileText { title, text: tidied(&said.text) })
}

/// Lines without spaces around them, and without empty ones between.
fn tidied(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(format: FileFormat, bytes: &[u8]) -> FileText {
        read(format, bytes).unwrap()
    }

    #[test]
    fn texts_of_several_encodings_are_read() {
        for bytes in [
            "Größe".as_bytes(),
            b"\xef\xbb\xbfGr\xc3\xb6\xc3\x9fe",
            b"Gr\xf6\xdfe",
            b"\xff\xfeG\0r\0\xf6\0\xdf\0e\0",
            b"\xfe\xff\0G\0r\0\xf6\0\xdf\0e",
        ] {
            assert_eq!(said(FileFormat::Text, bytes).text, "Größe", "{bytes:?}");
        }
        assert!(read(FileFormat::Text, b"\x7fELF\0\0\0").is_err());
        assert!(read(FileFormat::Text, b" \n ").is_err());
    }

    #[test]
    fn titles_are_found() {
        let markdown = said(FileFormat::Markdown, b"intro\n\n# The title #\n## other\ntext");
        assert_eq!(markdown.title.as_deref(), Some("The title"));
        let html = said(
            FileFormat::Html,
            b"<html><head><title>A &amp; B</title><style>x{}</style></head><body><nav>menu</nav>\
              <h1>Head</h1><p>One</p><p>two<script>alert(1)</script></p>",
        );
        assert_eq!(html.title.as_deref(), Some("A & B"));
        assert!(html.text.contains("One") && html.text.contains("two"), "{html:?}");
        assert!(!["alert", "menu", "x{}"].iter().any(|word| html.text.contains(word)), "{html:?}");
        assert_eq!(said(FileFormat::Html, b"<h1>Only</h1> this").title.as_deref(), Some("Only"));
    }

    #[test]
    fn a_text_is_cut_at_its_longest() {
        let long = "é".repeat(MAX_TEXT_BYTES);
        assert_eq!(said(FileFormat::Text, long.as_bytes()).text.len(), MAX_TEXT_BYTES);
        assert!(read(FileFormat::Html, &vec![b'x'; MAX_HTML_BYTES + 1]).is_err());
    }

    #[test]
    fn html_that_is_nested_without_end_harms_nothing() {
        for tag in ["<div>", "<b>", "<table><tr><td>", "<a><p>"] {
            let deep = tag.repeat(20_000) + "deep words";
            let _ = read(FileFormat::Html, deep.as_bytes());
        }
    }
}
