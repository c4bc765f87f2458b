//! Search: search providers are tried in order until one returns results.
//!
//! An index of files ([`crate::config::Index`]) is a provider like any other. Results are filtered,
//! deduplicated and cached.

mod canonical;
mod index;
mod plain;
mod remote;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use document_parser::Pool;
use ledger::{MemberId, Time};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use web_reader::{CacheLimits, TtlCache};
use wire::error::Code;
use wire::search::{Domains, Recency, SearchResult};

use self::index::Index;
use self::remote::Remote;
use crate::clock;
use crate::config::{Config, SearchProvider};
use crate::failure::ApiError;
use crate::metrics::Metrics;
use crate::problem::{Problem, collect};
use crate::provider::{Failure as Fault, Provider};

/// Advised wait for a client when all providers failed.
const RETRY_AFTER: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Search {
    engines: Vec<Engine>,
    cache: Cache,
    metrics: Arc<Metrics>,
    /// Ends the background work of indexes when the last clone is dropped.
    started: OnceLock<DropGuard>,
}

#[derive(Debug)]
enum Engine {
    Remote(Remote),
    Index(Index),
}

/// Why a search failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No provider is usable or configured.
    NoProvider,
    /// All usable providers failed.
    AllFailed {
        /// The shortest wait that one of them requested.
        retry_after: Option<Duration>,
    },
}

/// Opens all configured providers, or returns all problems.
pub(crate) fn open(
    config: &Config,
    parser: &Pool,
    metrics: Arc<Metrics>,
) -> Result<Search, Vec<Problem>> {
    let mut problems = Vec::new();
    let open = |configured: &SearchProvider| {
        let engine = match configured {
            SearchProvider::Remote { kind, upstream } => {
                Provider::open(upstream, remote::MAX_ANSWER_BYTES).map(|provider| {
                    Engine::Remote(Remote { kind: *kind, provider: Arc::new(provider) })
                })
            }
            SearchProvider::Index(index) => {
                Index::new(index, &config.public_url, parser.clone()).map(Engine::Index)
            }
        };
        collect(&mut problems, engine)
    };
    let engines = config.search.providers.iter().filter_map(open).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let cache = Cache::new(config.search.cache);
    Ok(Search { engines, cache, metrics, started: OnceLock::new() })
}

/// Asks one provider once, without a running service.
pub async fn probe(configured: &SearchProvider, query: &str) -> Result<Vec<SearchResult>, Problem> {
    let wanted = &Wanted::new(query);
    match configured {
        SearchProvider::Remote { kind, upstream } => {
            let provider = Arc::new(Provider::open(upstream, remote::MAX_ANSWER_BYTES)?);
            let name = provider.name.clone();
            let found = Remote { kind: *kind, provider }.search(wanted).await;
            found.map(|hits| chosen(hits, wanted)).map_err(|fault| {
                let status = fault.status().map(|status| format!(" with status {status}"));
                let cause = fault.cause().map(|cause| format!(": {cause}"));
                let (status, cause) = (status.unwrap_or_default(), cause.unwrap_or_default());
                let problem = Problem::new(format!("the provider `{name}` failed{status}{cause}"));
                match fault.status() {
                    Some(401 | 403) => {
                        problem.hint("check its `api_key`: the provider rejects the configured key")
                    }
                    _ => problem,
                }
            })
        }
        SearchProvider::Index(index) => {
            let (name, folder) = (&index.name, index.folder.display());
            let message = format!(
                "`{name}` is an index of {folder}, which only the running service can search"
            );
            Err(Problem::new(message).hint("send the query to the service with POST /v1/search"))
        }
    }
}

impl Search {
    /// Starts the background work of indexes, once.
    pub(crate) fn start(&self, tasks: &TaskTracker, stopping: &CancellationToken) {
        self.started.get_or_init(|| {
            let over = stopping.child_token();
            for engine in &self.engines {
                if let Engine::Index(index) = engine {
                    tasks.spawn(index.documents.clone().keep(over.clone()));
                }
            }
            over.drop_guard()
        });
    }

    /// Title and text of the document of an index at a URL.
    pub(crate) async fn document(&self, url: &str) -> Option<(String, String)> {
        for engine in &self.engines {
            if let Engine::Index(index) = engine
                && let Some(document) = index.read(url).await
            {
                return Some(document);
            }
        }
        None
    }

    /// The names of the providers in the order of preference, and whether each is usable now.
    pub(crate) fn providers(&self) -> impl Iterator<Item = (&str, bool)> {
        self.engines.iter().map(|engine| (engine.name(), engine.is_usable()))
    }

    /// Whether any provider is usable now.
    pub(crate) fn is_usable(&self) -> bool {
        self.engines.iter().any(Engine::is_usable)
    }

    /// Whether a search can be tried or is cached.
    pub(crate) fn can_answer(&self, wanted: &Wanted) -> bool {
        self.is_usable() || self.cache.find(wanted).is_some()
    }

    /// The remote providers, to be probed.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.engines.iter().filter_map(|engine| match engine {
            Engine::Remote(remote) => Some(&remote.provider),
            Engine::Index(_) => None,
        })
    }

    /// Returns cached results, or those of the first provider that finds anything.
    pub(crate) async fn search(&self, wanted: &Wanted) -> Result<Found, Failure> {
        if let Some(found) = self.cache.find(wanted) {
            return Ok(found);
        }
        let mut empty = None;
        let mut failure = Failure::NoProvider;
        let mut shortest_wait = None;
        for engine in self.candidates() {
            match self.ask(engine, wanted).await {
                Ok(results) => {
                    let results = chosen(results, wanted);
                    let provider = engine.name().to_owned();
                    let found = Found { provider, results, cached_at: None };
                    if !found.results.is_empty() {
                        self.cache.insert(wanted, &found);
                        return Ok(found);
                    }
                    empty.get_or_insert(found);
                }
                Err(fault) => {
                    if let Fault::Busy { retry_after } = fault {
                        shortest_wait = shortest_wait.into_iter().chain(retry_after).min();
                    }
                    failure = Failure::AllFailed { retry_after: shortest_wait };
                }
            }
        }
        empty.ok_or(failure)
    }

    /// The usable providers; ejected ones only if there is no other.
    fn candidates(&self) -> Vec<&Engine> {
        let usable = || self.engines.iter().filter(|engine| engine.is_usable());
        let good: Vec<&Engine> = usable().filter(|engine| !engine.is_ejected()).collect();
        if good.is_empty() { usable().collect() } else { good }
    }

    async fn ask(&self, engine: &Engine, wanted: &Wanted) -> Result<Vec<SearchResult>, Fault> {
        let begun = Instant::now();
        let remote = match engine {
            Engine::Remote(remote) => remote,
            Engine::Index(index) => return index.search(wanted).await.map_err(Fault::Malformed),
        };
        let provider = &remote.provider;
        match remote.search(wanted).await {
            Ok(results) => {
                provider.metrics(&self.metrics).answered(begun.elapsed());
                provider.health.succeeded();
                Ok(results)
            }
            Err(fault) => {
                let (what, status) = (fault.as_str(), fault.status());
                tracing::warn!(provider = %provider.name, what, status, "search failed");
                self.metrics.failed(&provider.name, what);
                if fault.is_its_fault() && provider.health.failed() {
                    tracing::error!(provider = %provider.name, "provider ejected");
                }
                Err(fault)
            }
        }
    }
}

impl Engine {
    fn name(&self) -> &str {
        match self {
            Self::Remote(remote) => &remote.provider.name,
            Self::Index(index) => index.documents.name(),
        }
    }

    fn is_usable(&self) -> bool {
        match self {
            Self::Remote(remote) => remote.provider.health.is_usable(),
            Self::Index(index) => index.documents.is_usable(),
        }
    }

    fn is_ejected(&self) -> bool {
        matches!(self, Self::Remote(remote) if remote.provider.health.is_ejected())
    }
}

/// The results that match the request, each page once.
fn chosen(results: Vec<SearchResult>, wanted: &Wanted) -> Vec<SearchResult> {
    let mut seen = HashSet::new();
    let may_be_shown = |hit: &SearchResult| {
        let form = canonical::canonical(&hit.url);
        wanted.allows(&hit.source) && form.is_some_and(|form| seen.insert(form))
    };
    results.into_iter().filter(may_be_shown).take(wanted.max_results).collect()
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoProvider => {
                let message = "web search is currently unavailable; nothing was charged";
                Self::new(Code::CapabilityUnavailable, message).retry_after(Duration::from_secs(5))
            }
            Failure::AllFailed { retry_after } => {
                let message = "no search provider responded; nothing was charged";
                Self::new(Code::UpstreamUnavailable, message)
                    .retry_after(retry_after.unwrap_or(RETRY_AFTER))
            }
        }
    }
}

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

const MAX_ANSWERS: usize = 1000;
const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
struct Cache(TtlCache<Wanted, Arc<(Found, Time)>>);

impl Cache {
    /// A cache of results up to this age; `None` disables it.
    fn new(max_age: Option<Duration>) -> Self {
        let max_age = max_age.unwrap_or_default();
        let (max_entries, max_bytes) = (MAX_ANSWERS, MAX_BYTES);
        Self(TtlCache::new(CacheLimits { max_age, max_entries, max_bytes }))
    }

    fn find(&self, wanted: &Wanted) -> Option<Found> {
        let cached = self.0.get(wanted)?;
        let (found, at) = &*cached;
        Some(Found { cached_at: Some(*at), ..found.clone() })
    }

    fn insert(&self, wanted: &Wanted, found: &Found) {
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
