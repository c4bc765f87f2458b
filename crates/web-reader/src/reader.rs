//! Reads a page: checks every redirect target, follows redirects, parses the content.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use document_parser::{Document, PageJob, Pool};
use http::Request;
use http::header::{CONNECTION, CONTENT_TYPE, HOST, USER_AGENT};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wire::web::PageFormat;

use super::connect::{Connection, Connector};
use super::exchange::{
    BROKEN, Content, Limits, MAX_HEAD_BYTES, PageFetch, PageResponse, drive, exchange,
};
use super::fault::{Fault, Result};
use super::guard::{AllowedPrivate, Guard, Resolve, System};
use super::robots::{MAX_ROBOTS_BYTES, Rules, rules_cache};
use super::target::Target;
use super::ttl_cache::{CacheLimits, TtlCache};

#[derive(Debug, Clone)]
pub struct ReaderOptions {
    /// The largest page in bytes, after decompression.
    pub max_bytes: u64,
    pub timeout: Duration,
    pub max_redirects: u32,
    /// Whether to follow redirects from https to http.
    pub allow_downgrade: bool,
    pub robots: bool,
    /// The `User-Agent`; its first word is our name in robots.txt.
    pub user_agent: String,
    pub ports: Vec<u16>,
    pub allow_private: Vec<AllowedPrivate>,
    /// A PEM file with additional certificate authorities.
    pub tls_ca_file: Option<PathBuf>,
    pub concurrency: u32,
    pub concurrency_per_host: u32,
    pub cache_bytes: u64,
    pub cache_age: Duration,
}

pub struct Reader {
    options: ReaderOptions,
    guard: Guard,
    connector: Connector,
    resolver: OnceLock<Arc<dyn Resolve>>,
    robots: TtlCache<String, Arc<Rules>>,
    concurrency: Concurrency,
    cache: PageCache,
    parser: Pool,
}

#[derive(Debug)]
pub struct Image {
    /// Type, by its first bytes.
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

/// Whether to obey the robots.txt of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RobotsPolicy {
    Obey,
    Ignore,
}

impl Reader {
    /// Opens a reader. The error is a TLS problem.
    pub fn open(options: ReaderOptions, parser: Pool) -> Result<Self, String> {
        Ok(Self {
            guard: Guard::new(options.ports.clone(), options.allow_private.clone()),
            connector: Connector::open(options.tls_ca_file.as_deref())?,
            resolver: OnceLock::new(),
            robots: rules_cache(),
            concurrency: Concurrency::new(options.concurrency, options.concurrency_per_host),
            cache: PageCache::new(options.cache_bytes, options.cache_age),
            parser,
            options,
        })
    }

    /// Replaces the system's resolver; `false` if it was replaced before.
    pub fn resolve_with(&self, resolver: Arc<dyn Resolve>) -> bool {
        self.resolver.set(resolver).is_ok()
    }

    /// Reads a page, or returns it from the cache.
    pub async fn read(&self, wanted: &ReadRequest) -> Result<FetchedPage> {
        // Before the cache: a forbidden page must not be returned from it either.
        self.guard.check(&wanted.target)?;
        if let Some(reading) = self.cache.find(wanted) {
            return Ok(FetchedPage { reading, from_cache: true });
        }
        let _permit = self.concurrency.try_acquire()?;
        let limits = Limits { max_bytes: self.options.max_bytes, readable_only: true };
        let (target, content) = self.fetch(wanted.target.clone(), limits).await?;
        let (status, may_be_cached) = (content.status, content.may_be_cached);
        let page = PageJob {
            url: target.url.to_string(),
            content_type: content.media,
            format: wanted.format,
        };
        let document = self.parser.page(Some(wanted.client), page, &content.bytes).await?;
        let reading = Arc::new(Reading {
            final_url: target.url.to_string(),
            status,
            document,
            fetched_at: SystemTime::now(),
        });
        if may_be_cached {
            self.cache.insert(wanted, &reading);
        }
        Ok(FetchedPage { reading, from_cache: false })
    }

    async fn fetch(&self, target: Target, limits: Limits) -> Result<(Target, Content)> {
        let policy = if self.options.robots { RobotsPolicy::Obey } else { RobotsPolicy::Ignore };
        let following = Box::pin(self.follow(target, policy, limits));
        let late = |_| Fault::Late("total time limit exceeded");
        match timeout(self.options.timeout, following).await.map_err(late)?? {
            (target, PageResponse::Content(content)) => Ok((target, content)),
            (_, PageResponse::Failed(status)) => Err(Fault::Status(status)),
            (_, PageResponse::Elsewhere(_)) => {
                Err(Fault::TooManyRedirects(self.options.max_redirects))
            }
        }
    }

    /// Sends a request and follows redirects; each address is checked.
    async fn follow(
        &self,
        mut target: Target,
        robots: RobotsPolicy,
        limits: Limits,
    ) -> Result<(Target, PageResponse)> {
        let mut redirects = 0;
        loop {
            let asked = PageFetch { target: &target, user_agent: &self.options.user_agent, limits };
            let answer = self.ask(&asked, robots).await;
            let answer =
                answer.map_err(|fault| if redirects > 0 { behind(fault) } else { fault })?;
            let PageResponse::Elsewhere(location) = &answer else { return Ok((target, answer)) };
            if redirects == self.options.max_redirects {
                return Err(Fault::TooManyRedirects(self.options.max_redirects));
            }
            redirects += 1;
            let next = target.join(location).map_err(behind)?;
            if target.is_secure() && !next.is_secure() && !self.options.allow_downgrade {
                return Err(Fault::Downgrade);
            }
            target = next;
        }
    }

    async fn ask(&self, asked: &PageFetch<'_>, robots: RobotsPolicy) -> Result<PageResponse> {
        let target = asked.target;
        self.guard.check(target)?;
        if robots == RobotsPolicy::Obey {
            self.check_robots(target).await?;
        }
        let _permit = self.concurrency.acquire_host(&target.host).await?;
        exchange(self.connect(target).await?, asked).await
    }

    /// Connects to a target, if all of its addresses are allowed.
    async fn connect(&self, target: &Target) -> Result<Connection> {
        let resolver = self.resolver.get_or_init(|| Arc::new(System));
        let addresses = self.guard.addresses(target, resolver).await?;
        self.connector.connect(target, &addresses).await
    }

    async fn check_robots(&self, target: &Target) -> Result<()> {
        let origin = target.origin();
        let rules = if let Some(rules) = self.robots.get(&origin) {
            rules
        } else {
            let rules = Arc::new(Box::pin(self.load_robots(target)).await?);
            self.robots.insert(origin, rules.clone(), 0);
            rules
        };
        match rules.forbidding(target.path()) {
            Some(rule) => Err(Fault::Robots { host: target.host.clone(), rule }),
            None => Ok(()),
        }
    }

    /// Loads the robots.txt of a site. A site without one allows everything; a site whose robots.txt
    /// is unavailable is not read.
    async fn load_robots(&self, target: &Target) -> Result<Rules> {
        let limits = Limits { max_bytes: MAX_ROBOTS_BYTES, readable_only: false };
        let answer = self.follow(target.robots()?, RobotsPolicy::Ignore, limits).await;
        match answer {
            Ok((_, PageResponse::Content(content))) => {
                let text = String::from_utf8_lossy(&content.bytes);
                let text = text.trim_start_matches('\u{feff}');
                let token = self.options.user_agent.split(['/', ' ']).next().unwrap_or_default();
                Ok(Rules::parse(text, token))
            }
            Ok((_, PageResponse::Failed(status))) if status >= 500 || status == 429 => {
                Err(Fault::Unreachable("cannot read the robots.txt of the site"))
            }
            // None, or an unusable one: nothing is forbidden.
            Ok(_)
            | Err(
                Fault::TooManyRedirects(_)
                | Fault::Redirect(_)
                | Fault::Downgrade
                | Fault::TooLarge(_)
                | Fault::Encoding(_)
                | Fault::Unreadable(_),
            ) => Ok(Rules::default()),
            Err(fault) => Err(fault),
        }
    }

    /// Checks whether a URL is allowed, without resolving its name.
    pub fn may_reach(&self, target: &Target) -> Result<()> {
        self.guard.check(target)
    }

    /// Posts JSON without following redirects, and returns the status of the response.
    pub async fn deliver(
        &self,
        target: &Target,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<u16> {
        let mut request = Request::post(target.path())
            .header(HOST, target.authority())
            .header(USER_AGENT, &self.options.user_agent)
            .header(CONTENT_TYPE, "application/json")
            .header(CONNECTION, "close");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|_| Fault::BadUrl("cannot be requested"))?;
        let connection = self.connect(target).await?;
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .handshake(TokioIo::new(connection))
            .await
            .map_err(|_| BROKEN)?;
        let response = drive(connection, sender.send_request(request)).await.map_err(|_| BROKEN)?;
        Ok(response.status().as_u16())
    }

    /// Fetches an image, up to this size.
    pub async fn image(&self, target: Target, max_bytes: u64) -> Result<Image> {
        let _permit = self.concurrency.try_acquire()?;
        let limits = Limits { max_bytes, readable_only: false };
        let (_, content) = self.fetch(target, limits).await?;
        let is_image = content.media.as_deref().is_none_or(|media| media.starts_with("image/"));
        let media_type = media_type(&content.bytes).filter(|_| is_image);
        let media_type = media_type.ok_or(Fault::Unreadable("is not an image"))?;
        Ok(Image { media_type, bytes: content.bytes })
    }
}

/// The first bytes of image types.
const TYPES: &[(&str, &[u8])] =
    &[("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff"), ("image/gif", b"GIF8")];

/// The fault of a redirect to a forbidden URL.
fn behind(fault: Fault) -> Fault {
    match fault {
        Fault::BadUrl(_) | Fault::NotPublic(_) | Fault::Port(_) => Fault::Redirect(Box::new(fault)),
        other => other,
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").finish_non_exhaustive()
    }
}

/// The type of an image by its first bytes; the rest is not decoded.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let known = TYPES.iter().find(|(_, start)| bytes.starts_with(start)).map(|(media, _)| *media);
    known.or(is_webp.then_some("image/webp"))
}

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

/// Maximum number of counted hosts before idle ones are dropped.
const MAX_IDLE_HOSTS: usize = 1024;

#[derive(Debug)]
pub(crate) struct Concurrency {
    all: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
    per_host: usize,
}

impl Concurrency {
    pub(crate) fn new(all: u32, per_host: u32) -> Self {
        let count = |number: u32| usize::try_from(number).unwrap_or(1);
        let hosts = Mutex::default();
        Self { all: Arc::new(Semaphore::new(count(all))), hosts, per_host: count(per_host) }
    }

    /// A permit within the total limit, or an error.
    pub(crate) fn try_acquire(&self) -> Result<OwnedSemaphorePermit> {
        self.all.clone().try_acquire_owned().map_err(|_| Fault::Busy)
    }

    pub(crate) async fn acquire_host(&self, host: &str) -> Result<OwnedSemaphorePermit> {
        let permits = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            if hosts.len() >= MAX_IDLE_HOSTS {
                hosts.retain(|_, permits| Arc::strong_count(permits) > 1);
            }
            let new = || Arc::new(Semaphore::new(self.per_host));
            hosts.entry(host.to_owned()).or_insert_with(new).clone()
        };
        permits.acquire_owned().await.map_err(|_| Fault::Busy)
    }
}

#[cfg(test)]
mod tests;
