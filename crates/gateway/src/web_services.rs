//! Search and page reading, with caches that are shared or per member.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use document_parser::{Document, Pool};
use ledger::{LineageId, MemberId};
use web_reader::{Fault, FetchedPage, Image, ReadRequest, Reader, ReaderOptions, Reading, Target};
use wire::error::Code;

use crate::config::{Config, Fetch};
use crate::failure::ApiError;
use crate::problem::Problem;
use crate::search::Search;

#[derive(Debug)]
pub(crate) struct WebServices {
    config: Arc<Config>,
    pub(crate) search: Arc<Search>,
    pub(crate) reader: Arc<Reader>,
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

    /// Reads a page. A document of an index is read from the index: its URL may not be reachable.
    pub(crate) async fn page(&self, wanted: &ReadRequest) -> Result<FetchedPage, Fault> {
        let url = wanted.target.url.as_str();
        let Some((title, text)) = self.search.document(url).await else {
            return self.reader.read(wanted).await;
        };
        let reading = Reading {
            final_url: url.to_owned(),
            status: 200,
            document: Document::of_text(&title, &text, wanted.format),
            fetched_at: SystemTime::now(),
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

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let param = if matches!(fault, Fault::BehindEnd(_)) { "start_index" } else { "url" };
        let error = match code(&fault) {
            code @ (Code::Unavailable | Code::RateLimited) => Self::new(code, fault.to_string()),
            code => Self::of_param(code, param, fault.to_string()),
        };
        match fault {
            Fault::Busy => error.retry_after(Duration::from_secs(1)),
            Fault::TooManyTimeouts(wait) => error.retry_after(wait),
            Fault::Status(_) | Fault::Unreachable(_) | Fault::Late(_) | Fault::NoParser => {
                error.retry_after(Duration::from_secs(5))
            }
            _ => error,
        }
    }
}

fn code(fault: &Fault) -> Code {
    match fault {
        Fault::BadUrl(_) | Fault::BehindEnd(_) => Code::InvalidRequest,
        Fault::NotPublic(_)
        | Fault::Port(_)
        | Fault::Robots { .. }
        | Fault::Redirect(_)
        | Fault::Downgrade => Code::TargetRefused,
        Fault::Status(status) if is_temporary(*status) => Code::UpstreamUnavailable,
        Fault::Status(_)
        | Fault::TooManyRedirects(_)
        | Fault::TooLarge(_)
        | Fault::MediaType(_)
        | Fault::Encoding(_)
        | Fault::Unreadable(_)
        | Fault::Overrun(_) => Code::PageUnreadable,
        Fault::TooManyTimeouts(_) => Code::RateLimited,
        Fault::Unreachable(_) | Fault::Late(_) => Code::UpstreamUnavailable,
        Fault::Busy | Fault::NoParser => Code::Unavailable,
    }
}

/// Whether a request after this status may succeed.
fn is_temporary(status: u16) -> bool {
    matches!(status, 408 | 425 | 429) || status >= 500
}

const WINDOW: Duration = Duration::from_mins(1);
/// A fetch that the client aborts after this time counts as a timeout.
const MIN_WASTED: Duration = Duration::from_secs(1);
/// Maximum keys; beyond it those without timeouts are dropped.
const MAX_KEYS: usize = 1024;

#[derive(Debug)]
pub(crate) struct Timeouts {
    per_minute: u32,
    keys: Mutex<HashMap<LineageId, Count>>,
}

#[derive(Debug)]
struct Count {
    begun: Instant,
    timeouts: u32,
    running: u32,
}

impl Count {
    /// Starts a new window after the end of the last one.
    fn roll(&mut self, now: Instant) {
        if now.duration_since(self.begun) >= WINDOW {
            (self.begun, self.timeouts) = (now, 0);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    timeouts: &'a Timeouts,
    key: LineageId,
    begun: Instant,
    /// Whether it timed out; `None` if the client abandoned it.
    has_timed_out: Option<bool>,
}

impl Timeouts {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute, keys: Mutex::default() }
    }

    /// Starts a fetch, unless too many of this key timed out.
    pub(crate) fn begin(&self, key: LineageId) -> Result<Attempt<'_>, Fault> {
        let now = Instant::now();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MAX_KEYS {
            keys.retain(|_, count| {
                count.roll(now);
                count.timeouts > 0 || count.running > 0
            });
        }
        let new = || Count { begun: now, timeouts: 0, running: 0 };
        let count = keys.entry(key).or_insert_with(new);
        count.roll(now);
        if count.timeouts.saturating_add(count.running) >= self.per_minute {
            return Err(Fault::TooManyTimeouts(WINDOW.saturating_sub(now - count.begun)));
        }
        count.running += 1;
        Ok(Attempt { timeouts: self, key, begun: now, has_timed_out: None })
    }
}

impl Attempt<'_> {
    pub(crate) fn end<T>(mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        self.has_timed_out = Some(matches!(&result, Err(Fault::Late(_) | Fault::Overrun(_))));
        result
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let is_slow = now.duration_since(self.begun) >= MIN_WASTED;
        let is_wasted = self.has_timed_out.unwrap_or(is_slow);
        let mut keys = self.timeouts.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = keys.get_mut(&self.key) {
            count.roll(now);
            count.running = count.running.saturating_sub(1);
            count.timeouts = count.timeouts.saturating_add(u32::from(is_wasted));
        }
    }
}

#[cfg(test)]
mod tests;
