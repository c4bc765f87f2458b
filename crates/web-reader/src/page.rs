//! Requests for pages, and pages.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use document_parser::Document;
use wire::web::PageFormat;

use super::target::Target;

/// A page that was read.
#[derive(Debug)]
pub struct Reading {
    /// Its address after redirects.
    pub final_url: String,
    /// Its HTTP status.
    pub status: u16,
    /// Its content.
    pub document: Document,
    /// When it was read.
    pub fetched_at: SystemTime,
    /// Whether it may be cached.
    pub may_be_cached: bool,
}

/// A request for a page.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// The owner of the cache; `None` for the shared one.
    pub owner: Option<i64>,
    /// The address.
    pub target: Target,
    /// The format of the content.
    pub format: PageFormat,
    /// The largest age of a cached page.
    pub max_age: Option<Duration>,
    /// The client; parsers are shared fairly between clients.
    pub client: i64,
}

/// A page, and whether it is from the cache.
#[derive(Debug)]
pub struct FetchedPage {
    /// The page.
    pub reading: Arc<Reading>,
    /// Whether it was read before.
    pub from_cache: bool,
}
