//! Requests for pages, pages, and their cache.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use document_parser::Document;
use wire::web::PageFormat;

use super::target::Target;
use super::ttl_cache::{CacheLimits, TtlCache};

/// Size of a cached page besides its text.
const OVERHEAD: usize = 512;

/// Owner, URL and format.
type Key = (Option<i64>, String, PageFormat);

#[derive(Debug)]
pub struct Reading {
    /// URL after redirects.
    pub final_url: String,
    pub status: u16,
    pub document: Document,
    pub fetched_at: SystemTime,
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

/// Pages are the same for every owner, but whether a member has read one is private: pages
/// without an owner are used only if the operator shares the cache.
#[derive(Debug)]
pub(crate) struct PageCache(TtlCache<Key, Arc<Reading>>);

impl PageCache {
    pub(crate) fn new(max_bytes: u64, max_age: Duration) -> Self {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        Self(TtlCache::new(CacheLimits { max_age, max_entries: usize::MAX, max_bytes }))
    }

    pub(crate) fn find(&self, wanted: &ReadRequest) -> Option<Arc<Reading>> {
        self.0.get_within(&key(wanted), wanted.max_age.unwrap_or(Duration::MAX))
    }

    pub(crate) fn insert(&self, wanted: &ReadRequest, reading: &Arc<Reading>) {
        let key = key(wanted);
        let size = size(&key, reading);
        self.0.insert(key, reading.clone(), size);
    }
}

fn key(wanted: &ReadRequest) -> Key {
    (wanted.owner, wanted.target.url.to_string(), wanted.format)
}

fn size((_, url, _): &Key, reading: &Reading) -> usize {
    let links = reading.document.links.iter().map(|link| link.text.len() + link.url.len() + 48);
    reading.document.content.len() + links.sum::<usize>() + url.len() * 2 + OVERHEAD
}

#[cfg(test)]
mod tests;
