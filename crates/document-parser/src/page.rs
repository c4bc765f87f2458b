//! The text and metadata of a web page.

mod charset;
mod html;

use std::time::Instant;

use serde::{Deserialize, Serialize};
use url::Url;
use wire::web::{PageFormat, PageLink};

use crate::media_type::{self, PageKind};
use crate::pdf;
use crate::rejection::Rejection;

use charset::Declarations;

/// Maximum links of a page, and maximum characters of a link text.
const MAX_LINKS: usize = 500;
const MAX_LINK_TEXT: usize = 200;
/// Longest title or byline, in characters.
const MAX_LINE: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageJob {
    /// The base of relative addresses.
    pub url: String,
    pub content_type: Option<String>,
    pub format: PageFormat,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The media type before conversion.
    pub media_type: String,
    pub title: Option<String>,
    pub byline: Option<String>,
    /// The time of publication: RFC 3339, or only the day.
    pub published_at: Option<String>,
    pub language: Option<String>,
    /// The content in the requested format.
    pub content: String,
    pub links: Vec<PageLink>,
}

pub(crate) fn document(job: &PageJob, bytes: &[u8]) -> Result<Document, Rejection> {
    let content_type = job.content_type.as_deref();
    let kind = media_type::kind(content_type, bytes);
    let declared = media_type::essence(content_type.unwrap_or_default());
    let Some(kind) = kind else { return Err(Rejection::UnsupportedType(declared)) };
    let mut document = match kind {
        PageKind::Pdf => pdf_document(bytes)?,
        PageKind::Html => {
            let text = charset::decode(bytes, content_type, Declarations::Used);
            // The caller has parsed this address before.
            let url = Url::parse(&job.url).map_err(|_| Rejection::NoText)?;
            html::document(&text, &url, job.format)
        }
        PageKind::Json => {
            let text = charset::decode(bytes, content_type, Declarations::Ignored);
            let pretty = wire::json::pretty(&text);
            let content = pretty.map_or(text, |pretty| pretty.replace('\u{feff}', ""));
            Document { content, ..Document::default() }
        }
        PageKind::Text => {
            let text = charset::decode(bytes, content_type, Declarations::Used);
            Document { content: text.replace("\r\n", "\n"), ..Document::default() }
        }
    };
    if document.content.trim().is_empty() {
        return Err(Rejection::NoText);
    }
    document.media_type = match kind {
        PageKind::Pdf => "application/pdf".to_owned(),
        _ if !declared.is_empty() && declared != "application/octet-stream" => declared,
        PageKind::Html => "text/html".to_owned(),
        PageKind::Json => "application/json".to_owned(),
        PageKind::Text => "text/plain".to_owned(),
    };
    if kind != PageKind::Html {
        document.content = formatted(document.content, job.format);
    }
    Ok(document)
}

fn pdf_document(bytes: &[u8]) -> Result<Document, Rejection> {
    let pdf = pdf::text(bytes, Instant::now() + pdf::MAX_TIME)?;
    let short = |text: Option<String>| text.and_then(|text| line(&text, MAX_LINE));
    Ok(Document {
        title: short(pdf.title),
        byline: short(pdf.author),
        published_at: pdf.created_on,
        content: pdf.text,
        ..Document::default()
    })
}

impl Document {
    pub fn of_text(title: &str, text: &str, format: PageFormat) -> Self {
        let (title, content) = (line(title, MAX_LINE), formatted(text.to_owned(), format));
        Self { media_type: "text/plain".to_owned(), title, content, ..Self::default() }
    }
}

/// A plain text in the requested format.
fn formatted(text: String, format: PageFormat) -> String {
    if format != PageFormat::Html {
        return text;
    }
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<pre>{escaped}</pre>")
}

/// A text on one line with limited length; `None` if it is empty.
fn line(text: &str, max_chars: usize) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(max_chars).collect();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests;
