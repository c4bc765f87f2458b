//! The upstreams of the service: providers, and the catalogue of their models.

mod probing;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use gateway_store::KeyRecord;
use wire::error::Code;

use crate::billing::Progress;
use crate::catalogue::{Catalogue, Model, Target};
use crate::config::{Capability, Config};
use crate::failure::{ApiError, ApiResult};
use crate::identity::may_use;
use crate::metrics::Metrics;
use crate::provider::{Failure, LastFailure, Provider};
use crate::trace::{Span, SpanContext, SpanKind, Tracer};
use crate::{clock, request_log};

/// Advised wait for a client when no provider of a model is usable.
const UNUSABLE_RETRY: Duration = Duration::from_secs(5);

pub(crate) struct Upstreams {
    pub(crate) config: Arc<Config>,
    pub(crate) providers: Vec<Arc<Provider>>,
    pub(crate) catalogue: ArcSwap<Catalogue>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tracer: Option<Arc<Tracer>>,
    /// The `created` time of all models, in Unix seconds.
    started: i64,
}

impl Upstreams {
    pub(crate) fn new(
        config: Arc<Config>,
        providers: Vec<Arc<Provider>>,
        metrics: Arc<Metrics>,
        tracer: Option<Arc<Tracer>>,
    ) -> Self {
        let started = clock::now().millis() / 1000;
        let catalogue = ArcSwap::from_pointee(Catalogue::build(&config, &providers, started));
        Self { config, providers, catalogue, metrics, tracer, started }
    }

    /// Builds the catalogue again from the models that providers have now.
    fn rebuild_catalogue(&self) {
        let catalogue = Catalogue::build(&self.config, &self.providers, self.started);
        self.catalogue.store(Arc::new(catalogue));
    }

    /// The default chat model of a caller: the preferred one, or the first usable one.
    pub(crate) fn default_chat_model(
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

    /// The model of a name, if the key may use it for a capability and a provider is usable.
    pub(crate) fn resolve(
        &self,
        caller: &KeyRecord,
        asked: &str,
        capability: Capability,
    ) -> ApiResult<Arc<Model>> {
        let catalogue = self.catalogue.load();
        let found = catalogue.find(asked, |id| may_use(caller, id)).map_err(|candidates| {
            let names = candidates.join("`, `");
            let message = format!("the model name `{asked}` is ambiguous: use one of `{names}`");
            ApiError::of_param(Code::ModelNotFound, "model", message)
        })?;
        let Some(model) = found else {
            let similar = catalogue.similar(asked);
            let similar: Vec<&str> =
                similar.into_iter().filter(|name| may_use(caller, name)).collect();
            let shown: String = asked.chars().take(100).collect();
            let message = if similar.is_empty() {
                format!("unknown model `{shown}`; list models with GET /v1/models")
            } else {
                format!("unknown model `{shown}`; did you mean `{}`?", similar.join("`, `"))
            };
            return Err(ApiError::of_param(Code::ModelNotFound, "model", message));
        };
        if !may_use(caller, asked) && !may_use(caller, &model.id) {
            let message = format!("this key may not use the model `{asked}`");
            return Err(ApiError::of_param(Code::ModelNotAllowed, "model", message));
        }
        if !model.is_for(capability) {
            let message = format!("the model `{asked}` does not support {}", capability.word());
            return Err(ApiError::of_param(Code::ModelNotForCapability, "model", message));
        }
        if !model.is_usable() {
            let message = format!("no provider of the model `{asked}` is currently available");
            let error = ApiError::new(Code::CapabilityUnavailable, message);
            return Err(error.retry_after(UNUSABLE_RETRY));
        }
        Ok(model)
    }
}

pub(crate) struct Attempt<'a> {
    upstreams: &'a Upstreams,
    target: &'a Target,
    begun: Instant,
    /// The span of the attempt and its start, if the request is traced.
    span: Option<(SpanContext, i64)>,
}

impl<'a> Attempt<'a> {
    pub(crate) fn start(
        upstreams: &'a Upstreams,
        target: &'a Target,
        parent: Option<SpanContext>,
    ) -> Self {
        let span = parent.map(|parent| (parent.child(), clock::now().micros()));
        Self { upstreams, target, begun: Instant::now(), span }
    }

    pub(crate) fn span(&self) -> Option<SpanContext> {
        self.span.map(|(context, _)| context)
    }

    pub(crate) fn end<T>(&self, result: &Result<T, Failure>, progress: &Progress) {
        let (provider, took) = (&self.target.provider, self.begun.elapsed());
        progress.tried(&self.target.id, result, took);
        let metrics = &self.upstreams.metrics;
        let outcome = result.as_ref().map_or_else(Failure::word, |_| "ok");
        match result {
            Ok(_) => provider.metrics(metrics).answered(took),
            Err(_) => metrics.failed(&provider.name, outcome),
        }
        if let (Some(tracer), Some((context, started))) = (&self.upstreams.tracer, self.span) {
            tracer.record(Span {
                context,
                kind: SpanKind::Client,
                name: "upstream",
                started,
                ended: clock::now().micros(),
                failed: result.is_err(),
                attributes: vec![
                    ("gen_ai.request.model", self.target.name.as_str().into()),
                    ("agent.provider", (*provider.name).into()),
                    ("agent.outcome", outcome.into()),
                ],
            });
        }
        match result {
            Ok(_) => {
                provider.health.succeeded();
                request_log::note_upstream(&self.target.id, took);
            }
            // The upstream cannot take this request, which is not a failure of it.
            Err(Failure::Unfit(_)) => {}
            Err(failure) => self.failed(failure),
        }
    }

    fn failed(&self, failure: &Failure) {
        let provider = &self.target.provider;
        let (what, status, cause) = (failure.word(), failure.status(), failure.cause());
        let model = &*self.target.id;
        let status_text = status.map(|status| format!(", status {status}")).unwrap_or_default();
        let why = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
        let message = format!("{model}: {what}{status_text}{why}");
        provider.last_failure.store(Some(Arc::new(LastFailure { at: clock::now(), message })));
        tracing::warn!(provider = %provider.name, model, what, status, cause, "provider failed");
        if failure.is_its_fault() && provider.health.failed() {
            tracing::error!(provider = %provider.name, "provider ejected");
        }
    }
}
