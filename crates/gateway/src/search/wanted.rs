//! Search requests and results.

use ledger::{MemberId, Time};
use wire::search::{Domains, Recency, SearchResult};

pub(crate) const DEFAULT_RESULTS: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    /// The owner of cached results; `None` for the shared cache.
    pub(crate) owner: Option<MemberId>,
    pub(crate) query: String,
    pub(crate) max_results: usize,
    pub(crate) recency: Option<Recency>,
    /// In lower case.
    pub(crate) domains: Domains,
}

impl Wanted {
    /// A request without filters.
    pub(crate) fn new(query: impl Into<String>) -> Self {
        Self {
            owner: None,
            query: query.into(),
            max_results: DEFAULT_RESULTS,
            recency: None,
            domains: Domains::default(),
        }
    }

    /// Whether results from this host are allowed.
    pub(super) fn allows(&self, host: &str) -> bool {
        let is_below = |domain: &String| {
            let start = host.strip_suffix(domain.as_str());
            start.is_some_and(|start| start.is_empty() || start.ends_with('.'))
        };
        let Domains { include, exclude } = &self.domains;
        (include.is_empty() || include.iter().any(is_below)) && !exclude.iter().any(is_below)
    }

    /// The query with the domains in the syntax of most search engines.
    pub(super) fn with_sites(&self) -> String {
        let Domains { include, exclude } = &self.domains;
        let sites: Vec<String> = include.iter().map(|domain| format!("site:{domain}")).collect();
        let mut query = self.query.clone();
        match &sites[..] {
            [] => {}
            [site] => query.push_str(&format!(" {site}")),
            sites => query.push_str(&format!(" ({})", sites.join(" OR "))),
        }
        for domain in exclude {
            query.push_str(&format!(" -site:{domain}"));
        }
        query
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// The name of the provider that found it.
    pub(crate) provider: String,
    /// Ordered by relevance. Their texts are plain, one line, and bounded.
    pub(crate) results: Vec<SearchResult>,
    /// When they were found, if they are cached.
    pub(crate) cached_at: Option<Time>,
}

#[cfg(test)]
mod tests;
