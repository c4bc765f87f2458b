//! Search and page reading, with caches that members share or not.

mod fault;
mod timeouts;

use std::sync::Arc;
use std::time::SystemTime;

use document_parser::{Document, Pool};
use ledger::{LineageId, MemberId};
use web_reader::{Fault, FetchedPage, Image, ReadRequest, Reader, ReaderOptions, Reading, Target};

use self::timeouts::Timeouts;
use crate::config::{Config, Fetch};
use crate::problem::Problem;
use crate::search::Search;

#[derive(Debug)]
pub(crate) struct WebServices {
    config: Arc<Config>,
    pub(crate) search: Arc<Search>,
    pub(crate) reader: Arc<Reader>,
    /// The timeouts of fetches by key: pages and images.
    pub(crate) timeouts: Timeouts,
}

impl WebServices {
    pub(crate) fn new(config: Arc<Config>, search: Arc<Search>, reader: Arc<Reader>) -> Self {
        let timeouts = Timeouts::new(config.fetch.timeouts_per_minute);
        Self { config, search, reader, timeouts }
    }

    /// The owner of the cached pages that a member may use; `None` for a shared cache.
    pub(crate) fn page_owner(&self, member: MemberId) -> Option<i64> {
        (!self.config.fetch.share_cache).then_some(member.0)
    }

    /// The owner of the cached search results that a member may use; `None` for a shared cache.
    pub(crate) fn search_owner(&self, member: MemberId) -> Option<MemberId> {
        (!self.config.search.share_cache).then_some(member)
    }

    /// Reads a page. A document of an index is read from there: its address may not be reachable.
    pub(crate) async fn page(&self, wanted: &ReadRequest) -> Result<FetchedPage, Fault> {
        let url = wanted.target.url.as_str();
        let Some(known) = self.search.document(url).await else {
            return self.reader.read(wanted).await;
        };
        let reading = Reading {
            final_url: known.url,
            status: 200,
            document: Document::of_text(&known.title, &known.text, wanted.format),
            fetched_at: SystemTime::now(),
            may_be_cached: false,
        };
        Ok(FetchedPage { reading: Arc::new(reading), from_cache: false })
    }

    /// Fetches an image for a key.
    pub(crate) async fn image(
        &self,
        key: LineageId,
        address: &str,
        max_bytes: u64,
    ) -> Result<Image, Fault> {
        let target = Target::parse(address.trim())?;
        let attempt = self.timeouts.begin(key)?;
        attempt.end(self.reader.image(target, max_bytes).await)
    }
}

/// Opens a reader as it is configured.
pub(crate) fn open_reader(config: &Fetch, parser: Pool) -> Result<Reader, Problem> {
    let options = ReaderOptions {
        max_bytes: config.max_bytes,
        timeout: config.timeout,
        max_redirects: config.max_redirects,
        allow_downgrade: config.allow_downgrade,
        robots: config.robots,
        user_agent: config.user_agent.clone(),
        ports: config.ports.clone(),
        allow_private: config.allow_private.clone(),
        tls_ca_file: config.tls_ca_file.clone(),
        concurrency: config.concurrency,
        concurrency_per_host: config.concurrency_per_host,
        cache_bytes: config.cache_bytes,
        cache_age: config.cache_age,
    };
    let broken = |cause: String| Problem::new(format!("cannot set up TLS for `fetch`: {cause}"));
    Reader::open(options, parser).map_err(broken)
}
