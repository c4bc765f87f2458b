//! The running service, assembled from its parts.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use document_parser::Pool;
use gateway_store::Store;
use tokio::sync::Notify;
use web_reader::{Reader, Resolve};

use crate::alerts::channel::Channels;
use crate::background::BackgroundTasks;
use crate::billing::Billing;
use crate::config::{self, Config};
use crate::identity::{Identities, KeyHasher};
use crate::lifecycle::Lifecycle;
use crate::media::{ArtifactStore, Media};
use crate::metrics::Metrics;
use crate::parsing::Parsing;
use crate::problem::{Problem, collect};
use crate::provider::Provider;
use crate::reload::Reloads;
use crate::research::Research;
use crate::search::{self, Search};
use crate::trace::{Exporter, Tracer};
use crate::upstreams::Upstreams;
use crate::web_services::{WebServices, open_reader};

/// The path of the client document.
pub(crate) const CLIENT_DOCUMENT: &str = "/oauth/client-metadata.json";

/// The running service with one configuration; the state of all handlers.
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
    pub(crate) reloads: Reloads,
    pub(crate) parser: Pool,
    pub(crate) parsing: Parsing,
    /// The configured channels of alerts, if any.
    pub(crate) channels: Option<Channels>,
    /// Identifies the MCP client to authorization servers.
    client_document: Arc<OnceLock<Bytes>>,
}

/// The parts that need only the configuration.
pub(crate) struct Parts {
    metrics: Arc<Metrics>,
    providers: Vec<Arc<Provider>>,
    artifacts: ArtifactStore,
    reader: Arc<Reader>,
    parser: Pool,
    search: Arc<Search>,
    tracer: Option<Arc<Tracer>>,
    /// Not started yet; `None` if there is no tracer or it runs already.
    exporter: Option<Exporter>,
    channels: Option<Channels>,
}

impl Parts {
    /// Opens all parts, or returns all problems. Unchanged parts of a running service are kept,
    /// with their connections, caches and state.
    pub(crate) fn open(
        config: &Config,
        parser: Pool,
        running: Option<&Service>,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let metrics = running.map_or_else(|| Arc::new(Metrics::new()), |it| it.metrics.clone());
        let providers = open_providers(config, running, &mut problems);
        let kept = running.filter(|old| {
            old.config.search == config.search && old.config.public_url == config.public_url
        });
        let search = kept.map(|old| old.web.search.clone()).or_else(|| {
            let search = search::open(config, &parser, metrics.clone());
            search.map_err(|found| problems.extend(found)).ok().map(Arc::new)
        });
        let kept = running.filter(|old| old.config.trace == config.trace);
        let (tracer, exporter) = if let Some(old) = kept {
            (old.upstreams.tracer.clone(), None)
        } else {
            let tracing = config.trace.as_ref().map(Tracer::new).transpose();
            collect(&mut problems, tracing).flatten().unzip()
        };
        let kept = running.filter(|old| old.config.fetch == config.fetch);
        let reader = kept.map(|old| old.web.reader.clone()).or_else(|| {
            collect(&mut problems, open_reader(&config.fetch, parser.clone())).map(Arc::new)
        });
        let channels = config.alerts.as_ref().map(Channels::open).transpose();
        let channels = collect(&mut problems, channels).flatten();
        let artifacts = collect(&mut problems, ArtifactStore::open(&config.artifacts));
        match (reader, artifacts, search) {
            (Some(reader), Some(artifacts), Some(search)) if problems.is_empty() => Ok(Self {
                metrics,
                providers,
                artifacts,
                reader,
                parser,
                search,
                tracer,
                exporter,
                channels,
            }),
            _ => Err(problems),
        }
    }
}

fn open_providers(
    config: &Config,
    running: Option<&Service>,
    problems: &mut Vec<Problem>,
) -> Vec<Arc<Provider>> {
    let max_answer = usize::try_from(config.limits.max_answer_bytes).unwrap_or(usize::MAX);
    let kept = |new: &config::Provider| {
        let old = running?;
        let configured = old.config.provider(&new.name)?;
        let mut open = old.upstreams.providers.iter();
        let open = open.find(|open| *open.name == *new.name)?;
        let is_same = configured.connects_like(new) && open.max_answer_bytes == max_answer;
        is_same.then(|| open.clone())
    };
    let open = |provider: &config::Provider| match kept(provider) {
        Some(open) => Some(open),
        None => collect(problems, Provider::open(provider, max_answer)).map(Arc::new),
    };
    config.providers.iter().filter_map(open).collect()
}

impl Service {
    pub(crate) fn new(
        config: Config,
        (store, hasher): (Store, KeyHasher),
        parts: Parts,
        reloads: Reloads,
    ) -> Arc<Self> {
        let (config, store) = (Arc::new(config), Arc::new(store));
        let metrics = parts.metrics.clone();
        let billing = Billing::new(config.clone(), store.clone(), metrics, Lifecycle::default());
        let identities = Arc::new(Identities::new(store, hasher));
        Self::assemble(config, billing, parts, (identities, reloads), None)
    }

    pub(crate) fn reconfigured(&self, config: Config, parts: Parts) -> Arc<Self> {
        let config = Arc::new(config);
        let lifecycle = self.lifecycle.of_replacement();
        let billing = self.billing.reconfigured(config.clone(), lifecycle);
        let lasting = (self.identities.clone(), self.reloads.clone());
        Self::assemble(config, billing, parts, lasting, Some(self))
    }

    fn assemble(
        config: Arc<Config>,
        billing: Billing,
        parts: Parts,
        (identities, reloads): (Arc<Identities>, Reloads),
        replaced: Option<&Self>,
    ) -> Arc<Self> {
        let Parts { metrics, providers, artifacts, reader, parser, search, tracer, .. } = parts;
        let background = replaced.map_or_else(Arc::default, |old| old.background.clone());
        let client_document = replaced.map(|old| old.client_document.clone()).unwrap_or_default();
        let lifecycle = billing.lifecycle.clone();
        let billing = Arc::new(billing);
        if let Some(exporter) = parts.exporter {
            lifecycle.tasks.spawn(exporter.run(lifecycle.stopping.clone()));
        }
        let upstreams = Upstreams::new(config.clone(), providers, metrics.clone(), tracer);
        let upstreams = Arc::new(upstreams);
        let web = Arc::new(WebServices::new(config.clone(), search, reader));
        let media = Media {
            config: config.clone(),
            billing: billing.clone(),
            upstreams: upstreams.clone(),
            parser: parser.clone(),
            artifacts,
        };
        let research = Research {
            config: config.clone(),
            billing: billing.clone(),
            upstreams: upstreams.clone(),
            web: web.clone(),
            background: background.clone(),
            queued: Notify::new(),
            ended: Notify::new(),
        };
        let limits = &config.limits;
        let parsing = Parsing::new(limits.parsing_bytes, limits.max_body_bytes);
        Arc::new(Self {
            config,
            lifecycle,
            metrics,
            identities,
            billing,
            upstreams,
            web,
            background,
            media: Arc::new(media),
            research: Arc::new(research),
            reloads,
            parser,
            parsing,
            channels: parts.channels,
            client_document,
        })
    }

    pub fn reloads(&self) -> &Reloads {
        &self.reloads
    }

    /// All providers on the network: those of models and those of search results.
    pub(crate) fn all_providers(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.upstreams.providers.iter().chain(self.web.search.upstreams())
    }

    /// Stops new requests to these providers, and allows them to all others.
    pub(crate) fn drain_providers(&self, drained: &[String]) {
        for provider in self.all_providers() {
            let is_drained = drained.iter().any(|name| **name == *provider.name);
            if provider.health.set_drained(is_drained) {
                tracing::info!(provider = %provider.name, is_drained, "provider drained or enabled");
            }
        }
    }

    /// The URL of the client document; `None` unless the public URL is https.
    pub fn client_document_address(&self) -> Option<String> {
        let url = &self.config.public_url;
        let is_https = url.scheme_str() == Some("https");
        let authority = url.authority().filter(|_| is_https)?;
        Some(format!("https://{authority}{CLIENT_DOCUMENT}"))
    }

    /// Serves the client document of the MCP client, if the public URL is https. Call it once,
    /// before [`serve`](crate::serve).
    pub fn offer_client_document(&self, document: Bytes) {
        if self.client_document.set(document).is_err() {
            tracing::warn!("second client document ignored");
        }
    }

    pub(crate) fn client_document(&self) -> Option<&Bytes> {
        self.client_document.get().filter(|_| self.client_document_address().is_some())
    }

    /// Resolves the hosts of pages with this resolver instead of the system's. Call it once,
    /// before [`serve`](crate::serve).
    pub fn resolve_pages_with(&self, resolver: Arc<dyn Resolve>) {
        if !self.web.reader.resolve_with(resolver) {
            tracing::warn!("second page resolver ignored");
        }
    }

    /// Lists the models of providers with discovery. [`serve`](crate::serve) repeats this; await
    /// it first to have the models for the first request.
    pub async fn discover(&self) {
        self.upstreams.discover().await;
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Service").finish_non_exhaustive()
    }
}
