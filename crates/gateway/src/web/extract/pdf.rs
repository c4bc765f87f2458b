//! The text of a PDF as a page.

use std::time::Instant;

use super::{Document, MAX_LINE, MAX_WORK, line};
use crate::pdf::{self, Unreadable};
use crate::web::fault::Fault;

/// What a PDF says. What is not read in time is left out.
pub(super) fn document(bytes: &[u8]) -> Result<Document, Fault> {
    let pdf = pdf::text(bytes, Instant::now() + MAX_WORK / 2).map_err(|why| {
        Fault::Unreadable(match why {
            Unreadable::Encrypted => "is a PDF that needs a password",
            Unreadable::NoText => "is a PDF without text; it may be a scan",
            Unreadable::Damaged | Unreadable::Failed(_) => "is a PDF that cannot be opened",
        })
    })?;
    let short = |text: Option<String>| text.and_then(|text| line(&text, MAX_LINE));
    Ok(Document {
        title: short(pdf.title),
        byline: short(pdf.author),
        published_at: pdf.made_on,
        content: pdf.text,
        ..Document::default()
    })
}
