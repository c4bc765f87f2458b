//! From bytes to a text with a title: what a page says.
//!
//! Pages are hostile until shown otherwise. Each is worked on by a thread of its own, of which
//! there are few, with a stack that deep nesting does not exhaust; a panic ends that thread only.

mod charset;
mod html;
mod json;
mod pdf;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use url::Url;
use wire::web::{PageFormat, PageLink};

use super::fault::Fault;
use super::media::{self, Kind};

/// How long a page may be worked on.
const MAX_WORK: Duration = Duration::from_secs(15);
/// The stack of a thread that works on a page.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// The most links of a page, and the most characters of each text.
const MAX_LINKS: usize = 500;
const MAX_LINK_TEXT: usize = 200;
/// The most characters of a title, a byline.
const MAX_LINE: usize = 500;

/// A page as it came.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) url: Url,
    pub(crate) content_type: Option<String>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: PageFormat,
}

/// What a page says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) media_type: String,
    pub(crate) title: Option<String>,
    pub(crate) byline: Option<String>,
    pub(crate) published_at: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) content: String,
    pub(crate) links: Vec<PageLink>,
}

/// Works on pages, a few at a time.
#[derive(Debug)]
pub(crate) struct Extractor {
    places: Arc<Semaphore>,
}

impl Extractor {
    /// As many threads as the machine can run at once.
    pub(crate) fn new() -> Self {
        let count = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self { places: Arc::new(Semaphore::new(count.max(2))) }
    }

    /// Works on a page. The place is free again when the work has ended, though nobody may wait
    /// for it any more.
    pub(crate) async fn extract(&self, raw: Raw) -> Result<Document, Fault> {
        let place = timeout(MAX_WORK, self.places.clone().acquire_owned()).await;
        let place = place.map_err(|_| Fault::Busy)?.map_err(|_| Fault::Busy)?;
        let work = async move {
            let (done, result) = oneshot::channel();
            let work = move || {
                let document = document(&raw);
                drop(place);
                let _ = done.send(document);
            };
            let thread = std::thread::Builder::new().name("page".into()).stack_size(STACK_BYTES);
            thread.spawn(work).map_err(|_| Fault::Busy)?;
            // A thread that panicked has dropped its end.
            result.await.map_err(|_| Fault::Unreadable("could not be understood"))?
        };
        let late = |_| Fault::Unreadable("takes too long to be understood");
        timeout(MAX_WORK, work).await.map_err(late)?
    }
}

/// What a page says; blocking.
pub(crate) fn document(raw: &Raw) -> Result<Document, Fault> {
    let content_type = raw.content_type.as_deref();
    let kind = media::kind(content_type, &raw.bytes);
    let named = media::essence(content_type.unwrap_or_default());
    let Some(kind) = kind else { return Err(Fault::MediaType(named)) };
    let mut document = match kind {
        Kind::Pdf => pdf::document(&raw.bytes)?,
        Kind::Html => {
            let text = charset::decode(&raw.bytes, content_type, charset::Marks::InTheText);
            html::document(&text, &raw.url, raw.format)
        }
        Kind::Json => {
            let text = charset::decode(&raw.bytes, content_type, charset::Marks::None);
            Document { content: json::pretty(&text).unwrap_or(text), ..Document::default() }
        }
        Kind::Text => {
            let text = charset::decode(&raw.bytes, content_type, charset::Marks::InTheText);
            Document { content: text.replace("\r\n", "\n"), ..Document::default() }
        }
    };
    if document.content.trim().is_empty() {
        return Err(Fault::Unreadable("has no text"));
    }
    document.media_type = match kind {
        Kind::Pdf => "application/pdf".to_owned(),
        _ if !named.is_empty() && named != "application/octet-stream" => named,
        Kind::Html => "text/html".to_owned(),
        Kind::Json => "application/json".to_owned(),
        Kind::Text => "text/plain".to_owned(),
    };
    if raw.format == PageFormat::Html && kind != Kind::Html {
        document.content = format!("<pre>{}</pre>", escaped(&document.content));
    }
    Ok(document)
}

impl Document {
    /// A document of which the text is known already.
    pub(crate) fn of_text(title: &str, text: &str, format: PageFormat) -> Self {
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
