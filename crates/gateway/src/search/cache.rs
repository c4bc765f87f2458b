//! Cached search results.

use std::sync::Arc;
use std::time::Duration;

use ledger::Time;
use web_reader::{CacheLimits, TtlCache};
use wire::search::SearchResult;

use super::wanted::{Found, Wanted};
use crate::clock;

const MAX_ANSWERS: usize = 1000;
const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Cache(TtlCache<Wanted, Arc<(Found, Time)>>);

impl Cache {
    /// A cache of results up to this age; `None` disables it.
    pub(super) fn new(max_age: Option<Duration>) -> Self {
        let max_age = max_age.unwrap_or_default();
        let (max_entries, max_bytes) = (MAX_ANSWERS, MAX_BYTES);
        Self(TtlCache::new(CacheLimits { max_age, max_entries, max_bytes }))
    }

    pub(super) fn find(&self, wanted: &Wanted) -> Option<Found> {
        let cached = self.0.get(wanted)?;
        let (found, at) = &*cached;
        Some(Found { cached_at: Some(*at), ..found.clone() })
    }

    pub(super) fn insert(&self, wanted: &Wanted, found: &Found) {
        let bytes = size(wanted) * 2 + found.results.iter().map(size_of_hit).sum::<usize>();
        self.0.insert(wanted.clone(), Arc::new((found.clone(), clock::now())), bytes);
    }
}

fn size(wanted: &Wanted) -> usize {
    let domains = wanted.domains.include.iter().chain(&wanted.domains.exclude);
    size_of::<Wanted>() + wanted.query.len() + domains.map(String::len).sum::<usize>()
}

fn size_of_hit(hit: &SearchResult) -> usize {
    let texts = [&hit.title, &hit.url, &hit.snippet, &hit.source];
    size_of::<SearchResult>() + texts.map(String::len).iter().sum::<usize>()
}

#[cfg(test)]
mod tests;
