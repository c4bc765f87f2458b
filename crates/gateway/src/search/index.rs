//! An index of the operator's own files as a search provider: maps paths to URLs.

use std::sync::Arc;
use std::time::Duration;

use document_index::{Config, Query};
use document_parser::Pool;
use http::Uri;
use percent_encoding::percent_decode_str;
use url::Url;
use wire::search::{Recency, SearchResult};

use super::Wanted;
use super::canonical;
use super::plain::{self, MAX_SNIPPET, MAX_TITLE};
use crate::problem::Problem;
use crate::{clock, config};

#[derive(Debug)]
pub(super) struct Index {
    pub(super) documents: Arc<document_index::Index>,
    /// Base of the file paths; ends with a slash.
    base: Url,
}

impl Index {
    /// An index from its configuration. Nothing is opened yet.
    pub(super) fn new(
        config: &config::Index,
        public_url: &Uri,
        parser: Pool,
    ) -> Result<Self, Problem> {
        let config::Index { name, folder, base_url, index_folder, rescan, max_file_bytes } =
            config.clone();
        let base = match base_url {
            Some(base) => base.to_string(),
            None => format!("{}/{name}", public_url.to_string().trim_end_matches('/')),
        };
        let base = Url::parse(&format!("{}/", base.trim_end_matches('/'))).map_err(|error| {
            Problem::new(format!("the provider `{name}` has an invalid `base_url`: {error}"))
        })?;
        let config = Config { name, folder, index_folder, rescan, max_file_bytes };
        Ok(Self { documents: Arc::new(document_index::Index::new(config, parser)), base })
    }

    pub(super) async fn search(&self, wanted: &Wanted) -> Result<Vec<SearchResult>, &'static str> {
        let source = canonical::host(&self.base).unwrap_or_default();
        if !wanted.allows(&source) {
            return Ok(Vec::new());
        }
        let query = Query {
            text: wanted.query.clone(),
            max_results: wanted.max_results,
            modified_since_ns: wanted.recency.map(since_ns),
        };
        let found = self.documents.search(query).await?;
        let hits = found.into_iter().map(|found| SearchResult {
            title: plain::one_line(&found.title, MAX_TITLE),
            url: self.address(&found.path),
            snippet: plain::one_line(&found.snippet, MAX_SNIPPET),
            published_at: Some(clock::rfc3339(ledger::Time::from_micros(found.modified_ns / 1000))),
            score: Some(found.score),
            source: source.clone(),
        });
        Ok(hits.collect())
    }

    /// Title and text of the document at a URL, if it belongs to this index.
    pub(super) async fn read(&self, url: &str) -> Option<(String, String)> {
        let (title, text) = self.documents.read(self.path(url)?).await?;
        Some((plain::one_line(&title, MAX_TITLE), text))
    }

    fn address(&self, path: &str) -> String {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url.into()
    }

    /// The path of the file behind a URL of this index.
    fn path(&self, address: &str) -> Option<String> {
        let url = Url::parse(address).ok()?;
        if url.origin() != self.base.origin() {
            return None;
        }
        let rest = url.path().strip_prefix(self.base.path())?;
        let path = percent_decode_str(rest).decode_utf8().ok()?;
        (!path.is_empty()).then(|| path.into_owned())
    }
}

fn since_ns(recency: Recency) -> i64 {
    let days = match recency {
        Recency::Day => 1,
        Recency::Week => 7,
        Recency::Month => 31,
        Recency::Year => 366,
    };
    let age = i64::try_from(Duration::from_hours(24 * days).as_millis()).unwrap_or(i64::MAX);
    clock::now().millis().saturating_sub(age).saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests;
