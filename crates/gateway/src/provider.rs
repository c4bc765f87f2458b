//! Providers at run time: the connections to an upstream, what it may be asked, and its health.

mod clean;
mod client;
mod health;
mod links;
mod list;
#[cfg(feature = "local-model")]
mod local;
#[cfg(not(feature = "local-model"))]
#[path = "provider/no_local.rs"]
mod local;
mod send;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) use clean::Cleaner;
pub(crate) use client::{Client, open as open_client};
pub(crate) use health::{AskedBy, Health, Probed};
pub(crate) use links::Links;
pub(crate) use list::{List, Listed};
pub(crate) use local::{HAS_LOCAL, Local};
pub(crate) use send::{Failure, Owner, Sender, Upstream};

use crate::apart::Apart;
use crate::config::{self, Kind, Responses, Timeouts};
use crate::media::{IMAGES_PATH, SPEECH_PATH};
use crate::meter::{Meter, ProviderFigures};
use crate::problem::Problem;
use crate::proxy::ask::{CHAT_PATH, MESSAGES_PATH, RESPONSES_PATH};

/// What upstreams are asked for by members.
const PATHS: &[&str] = &[CHAT_PATH, MESSAGES_PATH, RESPONSES_PATH, IMAGES_PATH, SPEECH_PATH];

/// A header's value that is shorter is a word, not a key.
const MIN_SECRET: usize = 12;

/// An upstream at run time.
pub(crate) struct Provider {
    pub(crate) name: Arc<str>,
    pub(crate) kind: Kind,
    /// Whether it speaks the responses interface; `Auto` until it has shown.
    pub(crate) responses: ResponsesMode,
    /// Whether a stream may be asked for its usage.
    pub(crate) stream_usage: bool,
    pub(crate) timeouts: Timeouts,
    pub(crate) max_answer_bytes: usize,
    pub(crate) base: Base,
    /// The program, of a provider that is one.
    pub(crate) program: Option<PathBuf>,
    /// The files, of a provider that is this process.
    pub(crate) local: Option<Local>,
    /// Why it cannot be used, where that is known; for operators.
    pub(crate) trouble: ArcSwapOption<String>,
    /// Made once for each lane: whoever copies it counts the copies.
    letterhead: Apart<Letterhead>,
    /// As many requests as it may have at once, where that is limited.
    slots: Option<Arc<Semaphore>>,
    pub(crate) health: Health,
    pub(crate) client: Links,
    pub(crate) cleaner: Cleaner,
    /// Models it was found to have.
    pub(crate) found: ArcSwap<Vec<config::Model>>,
    figures: OnceLock<ProviderFigures>,
}

/// What requests begin with.
struct Letterhead {
    /// The addresses of its paths.
    addresses: Vec<(&'static str, Uri)>,
    /// Sent with every request; holds the key.
    headers: HeaderMap,
}

/// A request's place among those that an upstream has at once; free again when this is dropped.
pub(crate) type Slot = Option<OwnedSemaphorePermit>;

/// What is known of a model that this process computes itself.
pub(crate) struct Known {
    pub(crate) context: u64,
    /// What it is, in words, unless its file cannot be used.
    pub(crate) description: Option<String>,
}

/// What was seen of the files of such models.
pub(crate) struct Look {
    /// Whether any of them can be used, or there is none.
    pub(crate) is_good: bool,
    /// The models that the configuration does not name, where anything changed.
    pub(crate) changed: Option<Vec<config::Model>>,
}

/// The address of an upstream, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// Without a slash at its end.
    pub(crate) path: String,
}

/// Whether an upstream speaks the responses interface.
#[derive(Debug)]
pub(crate) struct ResponsesMode(AtomicU8);

impl ResponsesMode {
    const WORDS: [Responses; 3] = [Responses::Auto, Responses::Native, Responses::Bridged];

    pub(crate) fn new(mode: Responses) -> Self {
        let mode = Self::WORDS.iter().position(|word| *word == mode).unwrap_or_default();
        Self(AtomicU8::new(u8::try_from(mode).unwrap_or_default()))
    }

    pub(crate) fn get(&self) -> Responses {
        let mode = usize::from(self.0.load(Ordering::Relaxed));
        Self::WORDS.get(mode).copied().unwrap_or(Responses::Auto)
    }

    pub(crate) fn set(&self, mode: Responses) {
        self.0.store(Self::new(mode).0.into_inner(), Ordering::Relaxed);
    }
}

impl Provider {
    /// An upstream as it is configured.
    pub(crate) fn open(
        configured: &config::Provider,
        max_answer_bytes: usize,
    ) -> Result<Self, Problem> {
        let broken = |what: &str, cause: String| {
            Problem::new(format!("the provider `{}` {what}: {cause}", configured.name))
        };
        let extra: Vec<CertificateDer<'static>> = match &configured.tls_ca_file {
            Some(path) => CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect)
                .map_err(|error| broken("has no usable `tls_ca_file`", error.to_string()))?,
            None => Vec::new(),
        };
        let client = Links::open(&extra, configured.timeouts.connect)
            .map_err(|error| broken("cannot use TLS", error.to_string()))?;
        let base = Base::new(&configured.base_url)
            .ok_or_else(|| broken("has no usable `base_url`", configured.base_url.to_string()))?;
        let secret = configured.api_key.as_ref().map(|key| key.reveal().to_owned());
        let letterhead = Apart::try_new(|| Letterhead::new(configured, &base))
            .ok_or_else(|| broken("has an `api_key`", "it cannot stand in a header".to_owned()))?;
        let forbidden =
            [secret, Some(base.authority.to_string()), Some(base.authority.host().to_owned())];
        // Keys may stand in headers of any name.
        let extra_words = configured.headers.iter().filter_map(|(_, value)| value.to_str().ok());
        let extra_words = extra_words.filter(|word| word.len() >= MIN_SECRET).map(str::to_owned);
        let slots = configured.max_concurrency.map(|count| usize::try_from(count).unwrap_or(1));
        Ok(Self {
            name: configured.name.as_str().into(),
            kind: configured.kind,
            responses: ResponsesMode::new(match configured.kind {
                Kind::Anthropic | Kind::Espeak | Kind::Local => Responses::Bridged,
                Kind::OpenAi => configured.responses,
            }),
            stream_usage: configured.stream_usage,
            timeouts: configured.timeouts,
            max_answer_bytes,
            letterhead,
            slots: slots.map(|count| Arc::new(Semaphore::new(count))),
            health: Health::new(configured.health.clone()),
            client,
            cleaner: Cleaner::new(forbidden.into_iter().flatten().chain(extra_words)),
            base,
            program: configured.program.clone(),
            local: Local::open(configured),
            trouble: ArcSwapOption::empty(),
            found: ArcSwap::default(),
            figures: OnceLock::new(),
        })
    }
}

impl Provider {
    /// Notes what a status says about the operator's key, for the operator.
    pub(crate) fn note_status(&self, asked_by: AskedBy, status: u16) {
        let provider = &*self.name;
        match self.health.note_status(asked_by, status) {
            Some(true) => tracing::error!(provider, status, "provider refuses the configured key"),
            Some(false) => tracing::info!(provider, "provider accepts the configured key again"),
            None => {}
        }
    }

    /// Whether one of its models may be asked.
    pub(crate) fn is_usable_for(&self, model: &str) -> bool {
        // Who is not looked after is asked, and shows then.
        let is_looked_after = self.health.policy.is_some();
        let can_use = |local: &Local| !is_looked_after || local.is_usable(model);
        self.health.is_usable() && self.local.as_ref().is_none_or(can_use)
    }

    /// A place for a request, if it may have one more.
    pub(crate) fn slot(&self) -> Result<Slot, Failure> {
        let taken = self.slots.as_ref().map(|slots| slots.clone().try_acquire_owned());
        taken.transpose().map_err(|_| Failure::Busy { retry_after: None })
    }

    /// The headers of a request.
    pub(crate) fn headers(&self) -> HeaderMap {
        self.letterhead.own().headers.clone()
    }

    /// The address of one of the paths that members ask for.
    fn address(&self, path: &str) -> Option<Uri> {
        let mut known = self.letterhead.own().addresses.iter();
        known.find(|(known, _)| *known == path).map(|(_, address)| address.clone())
    }

    /// What is counted about it.
    pub(crate) fn figures(&self, meter: &Meter) -> &ProviderFigures {
        self.figures.get_or_init(|| meter.provider(&self.name))
    }
}

impl Letterhead {
    fn new(configured: &config::Provider, base: &Base) -> Option<Self> {
        let addresses = PATHS.iter().filter_map(|path| Some((*path, base.join(path)?))).collect();
        Some(Self { addresses, headers: headers(configured, base)? })
    }
}

/// What is sent with every request, with no part of it shared.
fn headers(configured: &config::Provider, base: &Base) -> Option<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(8 + configured.headers.len());
    headers.insert(HOST, base.host()?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if configured.kind == Kind::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some(key) = &configured.api_key {
        let (name, value) = match configured.kind {
            Kind::OpenAi | Kind::Espeak | Kind::Local => {
                (AUTHORIZATION, format!("Bearer {}", key.reveal()))
            }
            Kind::Anthropic => (HeaderName::from_static("x-api-key"), key.reveal().to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in &configured.headers {
        headers.append(name.clone(), HeaderValue::from_bytes(value.as_bytes()).ok()?);
    }
    Some(headers)
}

impl Base {
    pub(crate) fn new(uri: &Uri) -> Option<Self> {
        Some(Self {
            scheme: uri.scheme()?.clone(),
            authority: uri.authority()?.clone(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// How requests name it: its port only where it is not the usual one.
    fn host(&self) -> Option<HeaderValue> {
        let host = self.authority.host();
        let usual = if self.scheme == Scheme::HTTPS { 443 } else { 80 };
        match self.authority.port_u16().filter(|port| *port != usual) {
            Some(port) => HeaderValue::from_str(&format!("{host}:{port}")).ok(),
            None => HeaderValue::from_str(host).ok(),
        }
    }

    /// The address of a path below it, with no part of it shared.
    pub(crate) fn join(&self, path: &str) -> Option<Uri> {
        let path = PathAndQuery::try_from(format!("{}{path}", self.path)).ok()?;
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.as_str())
            .path_and_query(path)
            .build()
            .ok()
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Provider").field("name", &self.name).finish_non_exhaustive()
    }
}
