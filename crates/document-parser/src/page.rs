//! The text and metadata of a web page.

mod charset;
mod from_pdf;
mod html;
mod json;

use serde::{Deserialize, Serialize};
use url::Url;
use wire::web::{PageFormat, PageLink};

use crate::media_type::{self, Kind};
use crate::rejection::Rejection;

/// The most links of a page, and the most characters of each text.
const MAX_LINKS: usize = 500;
const MAX_LINK_TEXT: usize = 200;
/// The most characters of a title, a byline.
const MAX_LINE: usize = 500;

/// A page to parse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageJob {
    /// What relative addresses are relative to.
    pub url: String,
    /// The `Content-Type` of the response.
    pub content_type: Option<String>,
    /// What the content becomes.
    pub format: PageFormat,
}

/// The text of a page, and what the page says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The media type before conversion.
    pub media_type: String,
    /// The title.
    pub title: Option<String>,
    /// The author.
    pub byline: Option<String>,
    /// When it was published: RFC 3339, or only the day.
    pub published_at: Option<String>,
    /// The tag of the language.
    pub language: Option<String>,
    /// The content in the format that was asked for.
    pub content: String,
    /// The links in the content.
    pub links: Vec<PageLink>,
}

/// Parses a page.
pub(crate) fn document(job: &PageJob, bytes: &[u8]) -> Result<Document, Rejection> {
    let content_type = job.content_type.as_deref();
    let kind = media_type::kind(content_type, bytes);
    let named = media_type::essence(content_type.unwrap_or_default());
    let Some(kind) = kind else { return Err(Rejection::UnsupportedType(named)) };
    let mut document = match kind {
        Kind::Pdf => from_pdf::document(bytes)?,
        Kind::Html => {
            let text = charset::decode(bytes, content_type, charset::Marks::InTheText);
            // Only addresses that were parsed before come here.
            let url = Url::parse(&job.url).map_err(|_| Rejection::NoText)?;
            html::document(&text, &url, job.format)
        }
        Kind::Json => {
            let text = charset::decode(bytes, content_type, charset::Marks::None);
            Document { content: json::pretty(&text).unwrap_or(text), ..Document::default() }
        }
        Kind::Text => {
            let text = charset::decode(bytes, content_type, charset::Marks::InTheText);
            Document { content: text.replace("\r\n", "\n"), ..Document::default() }
        }
    };
    if document.content.trim().is_empty() {
        return Err(Rejection::NoText);
    }
    document.media_type = match kind {
        Kind::Pdf => "application/pdf".to_owned(),
        _ if !named.is_empty() && named != "application/octet-stream" => named,
        Kind::Html => "text/html".to_owned(),
        Kind::Json => "application/json".to_owned(),
        Kind::Text => "text/plain".to_owned(),
    };
    if job.format == PageFormat::Html && kind != Kind::Html {
        document.content = format!("<pre>{}</pre>", escaped(&document.content));
    }
    Ok(document)
}

impl Document {
    /// A document of text that needs no parser.
    pub fn of_text(title: &str, text: &str, format: PageFormat) -> Self {
        let content = match format {
            PageFormat::Html => format!("<pre>{}</pre>", escaped(text)),
            PageFormat::Markdown | PageFormat::Text => text.to_owned(),
        };
        let title = line(title, MAX_LINE);
        Self { media_type: "text/plain".to_owned(), title, content, ..Self::default() }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A text on one line, not too long; nothing if it is empty.
fn line(text: &str, max_chars: usize) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(max_chars).collect();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests;
