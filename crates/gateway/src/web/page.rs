//! A page, wherever it is: in an index of this service, or somewhere on the internet.

use std::sync::Arc;

use document_parser::Document;

use super::fault::Fault;
use super::reader::{Found, Reading, Wanted};
use crate::clock;
use crate::service::Service;

/// Reads a page. What an index found can be read though its address leads nowhere from here.
pub(crate) async fn page(service: &Service, wanted: &Wanted) -> Result<Found, Fault> {
    let url = wanted.target.url.as_str();
    let Some(known) = service.search.document(url).await else {
        return service.reader.read(wanted).await;
    };
    let reading = Reading {
        final_url: known.url,
        status: 200,
        document: Document::of_text(&known.title, &known.text, wanted.format),
        fetched_at: clock::now(),
        may_be_kept: false,
    };
    Ok(Found { reading: Arc::new(reading), from_cache: false })
}
