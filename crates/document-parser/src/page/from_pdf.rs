//! The text of a PDF as a page.

use std::time::{Duration, Instant};

use super::{Document, MAX_LINE, line};
use crate::pdf;
use crate::rejection::Rejection;

/// After this time no further page of a PDF is read; what was read until then is the result.
const MAX_TIME: Duration = Duration::from_secs(7);

/// The text of a PDF as a page.
pub(super) fn document(bytes: &[u8]) -> Result<Document, Rejection> {
    let pdf = pdf::text(bytes, Instant::now() + MAX_TIME)?;
    let short = |text: Option<String>| text.and_then(|text| line(&text, MAX_LINE));
    Ok(Document {
        title: short(pdf.title),
        byline: short(pdf.author),
        published_at: pdf.made_on,
        content: pdf.text,
        ..Document::default()
    })
}
