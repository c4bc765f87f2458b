//! Providers at run time: connections, supported operations, and health of an upstream.

pub(crate) mod espeak;
mod failure;
mod health;
#[cfg(feature = "local-model")]
mod local;
#[cfg(not(feature = "local-model"))]
#[path = "provider/no_local.rs"]
mod local;
mod send;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;
use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use ledger::{MemberId, Time};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::{self, Kind, Responses, Timeouts};
use crate::metrics::{Metrics, ProviderMetrics};
use crate::problem::Problem;
use crate::trace::SpanContext;
use crate::upstream_pool::{BaseUrl, UpstreamPool};

pub(crate) use failure::Failure;
pub(crate) use health::{AskedBy, Health, Probed};
pub(crate) use local::Local;
pub(crate) use send::{List, Listed, Upstream, retry_after};

/// Declares the upstream paths that member requests use.
macro_rules! paths {
    ($($name:ident = $path:literal;)+) => {
        $(pub(crate) const $name: &str = $path;)+
        const PATHS: &[&str] = &[$($name),+];
    };
}

paths! {
    CHAT_PATH = "/chat/completions";
    MESSAGES_PATH = "/messages";
    COUNT_TOKENS_PATH = "/messages/count_tokens";
    RESPONSES_PATH = "/responses";
    COMPACT_PATH = "/responses/compact";
    INPUT_TOKENS_PATH = "/responses/input_tokens";
    COMPLETIONS_PATH = "/completions";
    EMBEDDINGS_PATH = "/embeddings";
    MODERATIONS_PATH = "/moderations";
    RERANK_PATH = "/rerank";
    IMAGES_PATH = "/images/generations";
    IMAGE_EDITS_PATH = "/images/edits";
    SPEECH_PATH = "/audio/speech";
    TRANSCRIPTIONS_PATH = "/audio/transcriptions";
}

/// Longest model name that is accepted from an upstream or compared with known names.
pub(crate) const MAX_MODEL_NAME: usize = 200;
/// Header values of at least this length may be keys.
const MIN_SECRET: usize = 12;

/// An upstream at run time.
pub(crate) struct Provider {
    pub(crate) name: Arc<str>,
    pub(crate) kind: Kind,
    /// Whether it supports the Responses API; `Auto` until a request has shown it.
    pub(crate) responses: ResponsesMode,
    /// Whether it accepts `stream_options.include_usage`.
    pub(crate) stream_usage: bool,
    pub(crate) timeouts: Timeouts,
    pub(crate) max_answer_bytes: usize,
    pub(crate) base: BaseUrl,
    pub(crate) program: Option<PathBuf>,
    pub(crate) local: Option<Local>,
    /// Why it cannot be used, for operators.
    pub(crate) trouble: ArcSwapOption<String>,
    addresses: Vec<(&'static str, Uri)>,
    /// Sent with every request; contains the key.
    pub(crate) headers: HeaderMap,
    slots: Option<Arc<Semaphore>>,
    pub(crate) health: Health,
    pub(crate) pool: UpstreamPool,
    pub(crate) cleaner: Cleaner,
    pub(crate) last_failure: ArcSwapOption<LastFailure>,
    pub(crate) found: ArcSwap<Vec<config::Model>>,
    metrics: OnceLock<ProviderMetrics>,
}

#[derive(Debug, Clone)]
pub(crate) struct LastFailure {
    pub(crate) at: Time,
    pub(crate) message: String,
}

/// One of the concurrent requests of a provider; freed on drop.
pub(crate) type Slot = Option<OwnedSemaphorePermit>;

pub(crate) struct LocalScan {
    /// Whether any file can be used, or there is none.
    pub(crate) is_good: bool,
    /// The models that the configuration does not name, if anything changed.
    pub(crate) changed: Option<Vec<config::Model>>,
}

/// The answer of a local model; its pieces wait for the computation.
pub(crate) struct LocalAnswer {
    pub(crate) media_type: &'static str,
    pub(crate) pieces: BoxStream<'static, Result<Bytes, Failure>>,
}

#[derive(Debug)]
pub(crate) struct ResponsesMode(AtomicU8);

impl ResponsesMode {
    pub(crate) fn new(mode: Responses) -> Self {
        Self(AtomicU8::new(mode as u8))
    }

    pub(crate) fn get(&self) -> Responses {
        let mode = self.0.load(Ordering::Relaxed);
        let modes = [Responses::Native, Responses::Bridged];
        modes.into_iter().find(|known| *known as u8 == mode).unwrap_or(Responses::Auto)
    }

    pub(crate) fn set(&self, mode: Responses) {
        self.0.store(mode as u8, Ordering::Relaxed);
    }
}

impl Provider {
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
                .map_err(|error| broken("has an invalid `tls_ca_file`", error.to_string()))?,
            None => Vec::new(),
        };
        let pool = UpstreamPool::open(&extra, configured.timeouts.connect)
            .map_err(|error| broken("cannot use TLS", error.to_string()))?;
        let base = BaseUrl::new(&configured.base_url)
            .ok_or_else(|| broken("has an invalid `base_url`", configured.base_url.to_string()))?;
        let secret = configured.api_key.as_ref().map(|key| key.reveal().to_owned());
        let headers = headers(configured, &base).ok_or_else(|| {
            broken(
                "has an invalid `api_key`",
                "it contains characters that are not allowed in a header".to_owned(),
            )
        })?;
        let forbidden =
            [secret, Some(base.authority.to_string()), Some(base.authority.host().to_owned())];
        // Keys may be in headers of any name.
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
            addresses: PATHS.iter().filter_map(|path| Some((*path, base.join(path)?))).collect(),
            headers,
            slots: slots.map(|count| Arc::new(Semaphore::new(count))),
            health: Health::new(configured.health.clone()),
            pool,
            cleaner: Cleaner::new(forbidden.into_iter().flatten().chain(extra_words)),
            base,
            program: configured.program.clone(),
            local: Local::open(configured),
            trouble: ArcSwapOption::empty(),
            last_failure: ArcSwapOption::empty(),
            found: ArcSwap::default(),
            metrics: OnceLock::new(),
        })
    }

    /// Updates the state of the operator's key by the status of a response.
    pub(crate) fn note_status(&self, asked_by: AskedBy, status: u16) {
        let provider = &*self.name;
        match self.health.note_status(asked_by, status) {
            Some(true) => tracing::error!(provider, status, "provider rejects the configured key"),
            Some(false) => tracing::info!(provider, "provider accepts the configured key again"),
            None => {}
        }
    }

    /// Its state in one word, for operators.
    pub(crate) fn state(&self) -> &'static str {
        let health = &self.health;
        if health.is_drained() {
            "drained"
        } else if !health.is_usable() {
            "probe_failed"
        } else if health.is_key_refused() {
            "key_refused"
        } else if health.is_ejected() {
            "ejected"
        } else {
            "usable"
        }
    }

    pub(crate) fn is_usable_for(&self, model: &str) -> bool {
        // Without health checks, requests show whether a file can be used.
        let has_checks = self.health.policy.is_some();
        let can_use = |local: &Local| !has_checks || local.is_usable(model);
        self.health.is_usable() && self.local.as_ref().is_none_or(can_use)
    }

    pub(crate) fn slot(&self) -> Result<Slot, Failure> {
        let taken = self.slots.as_ref().map(|slots| slots.clone().try_acquire_owned());
        taken.transpose().map_err(|_| Failure::Busy { retry_after: None })
    }

    fn address(&self, path: &str) -> Option<Uri> {
        let mut known = self.addresses.iter();
        known.find(|(known, _)| *known == path).map(|(_, address)| address.clone())
    }

    pub(crate) fn metrics(&self, metrics: &Metrics) -> &ProviderMetrics {
        self.metrics.get_or_init(|| metrics.provider(&self.name))
    }

    pub(crate) fn update_gauges(&self, metrics: &Metrics) {
        let health = &self.health;
        let is_usable = (!health.awaits_probe()).then(|| health.is_good());
        metrics.set_provider(&self.name, is_usable, health.is_key_refused());
    }
}

fn headers(configured: &config::Provider, base: &BaseUrl) -> Option<HeaderMap> {
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

impl std::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Provider").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    pub(crate) owner: Owner,
    pub(crate) span: Option<SpanContext>,
}

/// The owner of a request: cached computation is never shared between owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Member(MemberId),
    Operator,
}

const MAX_MESSAGE: usize = 300;

/// Removes the secrets and addresses of one upstream from texts.
pub(crate) struct Cleaner {
    /// The key and the URL.
    forbidden: Option<AhoCorasick>,
}

impl Cleaner {
    pub(crate) fn new(forbidden: impl IntoIterator<Item = String>) -> Self {
        let words: Vec<String> =
            forbidden.into_iter().filter(|word| word.chars().count() >= 4).collect();
        let forbidden = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok();
        Self { forbidden }
    }

    pub(crate) fn message(&self, body: &[u8]) -> Option<String> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let error = body.get("error").unwrap_or(&body);
        let message = error.get("message").or_else(|| body.get("detail")).unwrap_or(error);
        let message = self.clean(message.as_str()?);
        (!message.is_empty()).then_some(message)
    }

    pub(crate) fn clean(&self, text: &str) -> String {
        // Cut first to bound the work, well beyond the final length.
        let text: String = text.chars().take(MAX_MESSAGE * 4).collect();
        let text = match &self.forbidden {
            Some(forbidden) => {
                let stars = vec!["***"; forbidden.patterns_len()];
                forbidden.replace_all(&text, &stars)
            }
            None => text,
        };
        let words: Vec<&str> = text
            .split(|letter: char| letter.is_whitespace() || letter.is_control())
            .filter(|word| !word.is_empty())
            .map(|word| if is_harmless(word) { word } else { "***" })
            .collect();
        let line = words.join(" ");
        match line.char_indices().nth(MAX_MESSAGE) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        }
    }
}

/// Whether a word looks like neither a URL nor a secret.
fn is_harmless(word: &str) -> bool {
    let core = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    let is_address = word.contains("://") || host_part(core).parse::<std::net::Ipv4Addr>().is_ok();
    let is_secret = core.len() >= 16
        && ["sk-", "sk_", "key-", "Bearer", "agk_"].iter().any(|prefix| core.starts_with(prefix));
    let is_random = core.len() >= 32
        && core.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.+/=".contains(letter))
        && core.chars().any(|letter| letter.is_ascii_digit());
    !(is_address || is_secret || is_random)
}

fn host_part(word: &str) -> &str {
    word.split([':', '/']).next().unwrap_or(word)
}

#[cfg(test)]
mod tests;
