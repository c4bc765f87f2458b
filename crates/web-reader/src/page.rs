//! Requests for pages, and pages.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use document_parser::Document;
use wire::web::PageFormat;

use super::target::Target;

#[derive(Debug)]
pub struct Reading {
    /// URL after redirects.
    pub final_url: String,
    pub status: u16,
    pub document: Document,
    pub fetched_at: SystemTime,
    pub may_be_cached: bool,
}

#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// The owner of the cache; `None` for the shared one.
    pub owner: Option<i64>,
    pub target: Target,
    pub format: PageFormat,
    /// Maximum age of a cached page.
    pub max_age: Option<Duration>,
    /// The client; parsers are shared fairly between clients.
    pub client: i64,
}

#[derive(Debug)]
pub struct FetchedPage {
    pub reading: Arc<Reading>,
    pub from_cache: bool,
}
