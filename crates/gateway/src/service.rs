//! The running service, assembled from its parts.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use document_parser::Pool;
use gateway_store::Store;
use web_reader::{Reader, Resolve};

use crate::background::BackgroundTasks;
use crate::billing::Billing;
use crate::config::Config;
use crate::identity::{Identities, KeyHasher};
use crate::lifecycle::Lifecycle;
use crate::media::{ArtifactStore, Media};
use crate::metrics::Metrics;
use crate::openapi::operator;
use crate::problem::Problem;
use crate::provider::Provider;
use crate::research::Research;
use crate::search::{self, Search};
use crate::trace::{Exporter, Tracer};
use crate::upstreams::Upstreams;
use crate::web_services::{WebServices, open_reader};

/// The running service. Handlers and modules take the parts that they need.
pub struct Service {
    pub(crate) config: Arc<Config>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) identities: Arc<Identities>,
    pub(crate) billing: Arc<Billing>,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) web: Arc<WebServices>,
    pub(crate) background: Arc<BackgroundTasks>,
    pub(crate) media: Arc<Media>,
    pub(crate) research: Arc<Research>,
    /// Identifies the MCP client to authorization servers.
    client_document: OnceLock<Bytes>,
}

/// The parts that need only the configuration.
pub(crate) struct Parts {
    providers: Vec<Arc<Provider>>,
    artifacts: ArtifactStore,
    reader: Reader,
    parser: Pool,
    search: search::Engines,
    tracing: Option<(Arc<Tracer>, Exporter)>,
}

impl Parts {
    /// Opens all of them, or returns all problems.
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
        let reader = open_reader(&config.fetch, parser.clone());
        let reader = reader.map_err(|problem| problems.push(problem)).ok();
        let artifacts = ArtifactStore::open(&config.media);
        let artifacts = artifacts.map_err(|problem| problems.push(problem)).ok();
        match (reader, artifacts) {
            (Some(reader), Some(artifacts)) if problems.is_empty() => {
                Ok(Self { providers, artifacts, reader, parser, search, tracing })
            }
            _ => Err(problems),
        }
    }
}

impl Service {
    pub(crate) fn new(config: Config, store: Store, hasher: KeyHasher, parts: Parts) -> Arc<Self> {
        let Parts { providers, artifacts, reader, parser, search, tracing } = parts;
        let (config, store) = (Arc::new(config), Arc::new(store));
        let (lifecycle, metrics) = (Lifecycle::default(), Arc::new(Metrics::new()));
        let background = Arc::<BackgroundTasks>::default();
        let (tracer, exporter) = tracing.unzip();
        if let Some(exporter) = exporter {
            lifecycle.tasks.spawn(exporter.run(lifecycle.stopping.clone()));
        }
        let billing =
            Billing::new(config.clone(), store.clone(), metrics.clone(), lifecycle.clone());
        let billing = Arc::new(billing);
        let upstreams = Upstreams::new(config.clone(), providers, metrics.clone(), tracer);
        let upstreams = Arc::new(upstreams);
        let search = Search::new(&config.search, search, metrics.clone());
        let web = Arc::new(WebServices::new(config.clone(), search, reader));
        let media =
            Media::new(config.clone(), billing.clone(), upstreams.clone(), parser, artifacts);
        let research = Research::new(
            config.clone(),
            billing.clone(),
            upstreams.clone(),
            web.clone(),
            background.clone(),
        );
        Arc::new(Self {
            config,
            lifecycle,
            metrics,
            identities: Arc::new(Identities::new(store, hasher)),
            billing,
            upstreams,
            web,
            background,
            media: Arc::new(media),
            research: Arc::new(research),
            client_document: OnceLock::new(),
        })
    }

    /// All providers on the network: those of models and those of search results.
    pub(crate) fn all_providers(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.upstreams.providers.iter().chain(self.web.search.upstreams())
    }

    /// The address of the client document; `None` unless the service is reached by https.
    pub fn client_document_address(&self) -> Option<String> {
        let url = &self.config.public_url;
        let is_https = url.scheme_str() == Some("https");
        let authority = url.authority().filter(|_| is_https)?;
        Some(format!("https://{authority}{}", operator::CLIENT.path))
    }

    /// Offers the client document of the MCP client, if the service is reached by https. Call it
    /// once, before [`serve`](crate::serve).
    pub fn offer_client_document(&self, document: Bytes) {
        if self.client_document.set(document).is_err() {
            tracing::warn!("second client document ignored");
        }
    }

    /// The client document, if it is served.
    pub(crate) fn client_document(&self) -> Option<&Bytes> {
        self.client_document.get().filter(|_| self.client_document_address().is_some())
    }

    /// Resolves the hosts of pages with another resolver than that of the machine. Call it once,
    /// before [`serve`](crate::serve).
    pub fn resolve_pages_with(&self, resolver: Arc<dyn Resolve>) {
        if !self.web.reader.resolve_with(resolver) {
            tracing::warn!("second page resolver ignored");
        }
    }

    /// Asks providers with discovery for their models. [`serve`](crate::serve) repeats this; await
    /// it first to have the models for the first request.
    pub async fn discover(&self) {
        self.upstreams.discover().await;
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Service").field("billing", &self.billing).finish_non_exhaustive()
    }
}
