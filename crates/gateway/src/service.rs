//! The running service: what every request works with.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use document_parser::Pool;
use gateway_store::{KeyRecord, Scope, Store};
use http::HeaderMap;
use ledger::MemberId;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::background::Background;
use crate::catalogue::{Catalogue, Model};
use crate::clock;
use crate::config::{Capability, ClientGone, Config};
use crate::endpoints::oauth;
use crate::failure::ApiError;
use crate::identity::{Caller, Identities, KeyHasher, check_scope, may_use};
use crate::media::Keep;
use crate::meter::Meter;
use crate::parsing::Parsing;
use crate::problem::Problem;
use crate::provider::Provider;
use crate::proxy::relay::Leaving;
use crate::request_log;
use crate::research::Bell;
use crate::search::{self, Search};
use crate::trace::{Exporter, Tracer};
use crate::upkeep;
use crate::web::{Reader, Resolve};

/// The running service. Each lane has one of its own, so that whoever holds on to it does not count in
/// memory that all lanes change.
#[derive(Debug, Clone)]
#[repr(align(128))]
pub struct Service(Arc<Shared>);

/// What all lanes share.
pub struct Shared {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) identities: Identities,
    pub(crate) providers: Vec<Arc<Provider>>,
    pub(crate) catalogue: ArcSwap<Catalogue>,
    /// Room for bodies that are being parsed.
    pub(crate) parsing: Parsing,
    /// The bytes of what was made.
    pub(crate) artifacts: Keep,
    pub(crate) meter: Arc<Meter>,
    /// Finds things.
    pub search: Search,
    /// Reads pages.
    pub(crate) reader: Reader,
    /// Parses untrusted documents.
    pub(crate) parser: Pool,
    /// Takes spans, where traces are wanted.
    pub(crate) tracer: Option<Arc<Tracer>>,
    /// Who ends the holds of this process.
    pub(crate) owner: i64,
    /// Work that outlives its request; waited for before the process ends.
    pub(crate) tasks: TaskTracker,
    /// Responses and jobs that run here, and who follows them.
    pub(crate) background: Background,
    /// What wakes those who wait for jobs.
    pub(crate) bell: Bell,
    /// Cancelled when the service is about to stop.
    pub(crate) stopping: CancellationToken,
    /// The same, for those who look often.
    is_stopping: AtomicBool,
    /// Cancelled when everything has come to its end, or may not go on.
    pub(crate) finished: CancellationToken,
    /// Who the MCP client is, for authorization servers.
    pub(crate) client_document: OnceLock<Bytes>,
    started: i64,
}

/// What the configuration alone is enough for.
pub(crate) struct Parts {
    providers: Vec<Arc<Provider>>,
    artifacts: Keep,
    reader: Reader,
    parser: Pool,
    search: search::Engines,
    tracing: Option<(Arc<Tracer>, Exporter)>,
}

impl Parts {
    /// Opens all of it, or says all that is wrong.
    pub(crate) fn open(config: &Config, parser: Pool) -> Result<Self, Vec<Problem>> {
        let max_answer = usize::try_from(config.limits.max_answer_bytes).unwrap_or(usize::MAX);
        let mut problems = Vec::new();
        let mut providers = Vec::new();
        for provider in &config.providers {
            match Provider::open(provider, max_answer) {
                Ok(provider) => providers.push(Arc::new(provider)),
                Err(problem) => problems.push(problem),
            }
        }
        let search = search::open(config, &parser).map_err(|found| problems.extend(found));
        let search = search.unwrap_or_default();
        let tracing = config.trace.as_ref().map(Tracer::new).transpose();
        let tracing = tracing.map_err(|problem| problems.push(problem)).ok().flatten();
        let reader = Reader::open(&config.fetch, parser.clone());
        let reader = reader.map_err(|problem| problems.push(problem)).ok();
        let artifacts = Keep::open(&config.media).map_err(|problem| problems.push(problem)).ok();
        match (reader, artifacts) {
            (Some(reader), Some(artifacts)) if problems.is_empty() => {
                Ok(Self { providers, artifacts, reader, parser, search, tracing })
            }
            _ => Err(problems),
        }
    }
}

impl Service {
    /// Puts the parts together.
    pub(crate) fn new(config: Config, store: Store, hasher: KeyHasher, parts: Parts) -> Arc<Self> {
        let Parts { providers, artifacts, reader, parser, search, tracing } = parts;
        let meter = Arc::new(Meter::new());
        let search = Search::new(&config.search, search, meter.clone());
        let (tracer, exporter) = tracing.unzip();
        let started = clock::now().millis() / 1000;
        let catalogue = Catalogue::build(&config, &providers, started);
        let parsing = Parsing::new(config.limits.parsing_bytes, config.limits.max_body_bytes);
        let shared = Arc::new(Shared {
            config,
            parsing,
            store,
            identities: Identities::new(hasher),
            providers,
            catalogue: ArcSwap::from_pointee(catalogue),
            artifacts,
            meter,
            search,
            reader,
            parser,
            tracer,
            owner: fastrand::i64(1..),
            tasks: TaskTracker::new(),
            background: Background::default(),
            bell: Bell::default(),
            stopping: CancellationToken::new(),
            is_stopping: AtomicBool::new(false),
            finished: CancellationToken::new(),
            client_document: OnceLock::new(),
            started,
        });
        if let Some(exporter) = exporter {
            shared.tasks.spawn(exporter.run(shared.stopping.clone()));
        }
        Arc::new(Self(shared))
    }

    /// The same service, for another lane.
    pub(crate) fn apart(&self) -> Arc<Self> {
        Arc::new(self.clone())
    }

    /// Whether it is about to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// From now on it is about to stop.
    pub(crate) fn stop(&self) {
        // First this: whoever is woken looks here.
        self.is_stopping.store(true, Ordering::Release);
        self.stopping.cancel();
    }

    /// Where a client document would be served; `None` unless the service is reached by https.
    pub fn client_document_address(&self) -> Option<String> {
        let url = &self.config.public_url;
        let is_https = url.scheme_str() == Some("https");
        let authority = url.authority().filter(|_| is_https)?;
        Some(format!("https://{authority}{}", oauth::PATH))
    }

    /// Offers the client document of the MCP client, where the service is reached by https. To be
    /// called before [`serve`](crate::serve), once.
    pub fn offer_client_document(&self, document: Bytes) {
        if self.client_document.set(document).is_err() {
            tracing::warn!("a second client document was not taken");
        }
    }

    /// Looks up the hosts of pages elsewhere than the machine does. To be called before
    /// [`serve`](crate::serve), once.
    pub fn resolve_pages_with(&self, resolver: Arc<dyn Resolve>) {
        if !self.reader.resolve_with(resolver) {
            tracing::warn!("a second resolver of pages was not taken");
        }
    }

    /// Asks upstreams for their models where the configuration says so. Serving does that too, again
    /// and again; whoever waits for this first knows that the first request finds them.
    pub async fn discover(&self) {
        upkeep::discover(self).await;
    }

    /// A chat model for a caller who named none: the one that is preferred, or the first, of those
    /// that can be used now.
    pub(crate) fn chat_model(
        &self,
        caller: &KeyRecord,
        preferred: Option<&str>,
    ) -> Option<Arc<Model>> {
        let catalogue = self.catalogue.load();
        let preferred = preferred.and_then(|name| catalogue.model(name));
        let is_fine = |model: &&Arc<Model>| {
            model.is_for(Capability::Chat) && model.is_usable() && may_use(caller, &model.id)
        };
        preferred.into_iter().chain(catalogue.models()).find(is_fine).cloned()
    }

    /// Who sends these headers.
    pub(crate) async fn caller(&self, headers: &HeaderMap) -> Result<Caller, ApiError> {
        let caller = self.identities.caller(headers, &self.store, clock::now()).await?;
        request_log::note_caller(&caller);
        Ok(caller)
    }

    /// Who sends these headers, if the key may be used for this.
    pub(crate) async fn caller_for(
        &self,
        headers: &HeaderMap,
        scope: Scope,
    ) -> Result<Caller, ApiError> {
        let caller = self.caller(headers).await?;
        check_scope(&caller, scope)?;
        Ok(caller)
    }

    /// Whose cached pages a member's requests may use; `None` for those that all share.
    pub(crate) fn page_owner(&self, member: MemberId) -> Option<MemberId> {
        (!self.config.fetch.share_cache).then_some(member)
    }

    /// The same for results of searches.
    pub(crate) fn search_owner(&self, member: MemberId) -> Option<MemberId> {
        (!self.config.search.share_cache).then_some(member)
    }

    /// How long a hold lives unless renewed.
    pub(crate) fn lease_micros(&self) -> i64 {
        i64::try_from(self.config.hold_lease.as_micros()).unwrap_or(i64::MAX)
    }

    /// How long a stream may be silent before a comment keeps it alive.
    pub(crate) fn keepalive(&self) -> Duration {
        const NEVER: Duration = Duration::from_hours(365 * 24);
        self.config.limits.keepalive_comment.unwrap_or(NEVER)
    }

    /// What is done about the upstream of a client that left.
    pub(crate) fn leaving(&self) -> Leaving {
        match self.config.on_client_gone {
            ClientGone::Cancel => Leaving::Cancel,
            ClientGone::Finish => Leaving::Finish,
        }
    }

    /// Looks at what upstreams were found to have.
    pub(crate) fn rebuild_catalogue(&self) {
        let catalogue = Catalogue::build(&self.config, &self.providers, self.started);
        self.catalogue.store(Arc::new(catalogue));
    }
}

impl Deref for Service {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Service").field("owner", &self.owner).finish_non_exhaustive()
    }
}
