//! The upstreams of the service: providers, their health probes, and the catalogue of their models.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use gateway_store::KeyRecord;
use wire::error::Code;

use crate::billing::Progress;
use crate::catalogue::{Catalogue, Model, Target};
use crate::config::{self, Capability, Config};
use crate::failure::{ApiError, ApiResult};
use crate::identity::may_use;
use crate::lifecycle::Lifecycle;
use crate::metrics::Metrics;
use crate::provider::{
    AskedBy, Failure, LastFailure, List, Listed, Local, LocalScan, MAX_MODEL_NAME, Probed,
    Provider, espeak,
};
use crate::trace::{Span, SpanContext, SpanKind, Tracer};
use crate::{clock, request_log};

/// Advised wait for a client when no provider of a model is usable.
const UNUSABLE_RETRY: Duration = Duration::from_secs(5);

/// Interval of discovery for a provider without health checks.
const DISCOVERY_INTERVAL: Duration = Duration::from_mins(1);
/// Maximum interval of probes while a provider is down.
const DOWN_INTERVAL: Duration = Duration::from_secs(2);

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
            let message = format!("the model `{asked}` does not support {}", capability.as_str());
            return Err(ApiError::of_param(Code::ModelNotForCapability, "model", message));
        }
        if !model.is_usable() {
            let message = format!("no provider of the model `{asked}` is currently available");
            let error = ApiError::new(Code::CapabilityUnavailable, message);
            return Err(error.retry_after(UNUSABLE_RETRY));
        }
        Ok(model)
    }

    /// Lists the models of all providers with discovery, once and concurrently.
    pub(crate) async fn discover(&self) {
        let asked = self.providers.iter().filter(|provider| self.discovers(provider));
        join_all(asked.map(|provider| self.probe(provider, true))).await;
    }

    /// Probes local programs and files, so that their state is known before the first request.
    pub(crate) async fn probe_local(&self) {
        let is_local =
            |provider: &&Arc<Provider>| provider.program.is_some() || provider.local.is_some();
        for provider in self.providers.iter().filter(is_local) {
            self.probe(provider, false).await;
        }
    }

    /// Probes a provider until the service stops or is reloaded. One without a path to probe and
    /// without discovery depends on requests alone.
    pub(crate) fn start_probing(self: &Arc<Self>, provider: &Arc<Provider>, lifecycle: &Lifecycle) {
        let discovers = self.discovers(provider);
        let policy = provider.health.policy.clone().filter(|policy| !policy.path.is_empty());
        if policy.is_none() && !discovers {
            return;
        }
        let (upstreams, provider) = (self.clone(), provider.clone());
        let replaced = lifecycle.replaced.clone();
        lifecycle.tasks.spawn(async move {
            loop {
                let is_good = upstreams.probe(&provider, discovers).await;
                let usual = policy.as_ref().map_or(DISCOVERY_INTERVAL, |policy| policy.interval);
                let pause = if is_good { usual } else { usual.min(DOWN_INTERVAL) };
                tokio::select! {
                    () = replaced.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        });
    }

    fn discovers(&self, provider: &Provider) -> bool {
        self.config.provider(&provider.name).is_some_and(|provider| provider.discover)
    }

    async fn probe(&self, provider: &Provider, discovers: bool) -> bool {
        if let Some(local) = &provider.local {
            return self.probe_files(provider, local).await;
        }
        let list = models(provider).await;
        let is_good = list.is_ok();
        note(provider, is_good);
        if let (Ok(Some(list)), true) = (list, discovers) {
            provider.found.store(Arc::new(list));
            self.rebuild_catalogue();
        }
        is_good
    }

    async fn probe_files(&self, provider: &Provider, local: &Local) -> bool {
        let LocalScan { is_good, changed } = local.scan().await;
        note(provider, is_good);
        if let Some(found) = changed {
            provider.trouble.store(local.problem().map(Arc::new));
            provider.found.store(Arc::new(found));
            // The metadata of configured models may have changed too.
            self.rebuild_catalogue();
        }
        is_good
    }
}

fn note(provider: &Provider, is_good: bool) {
    let is_local = provider.program.is_some() || provider.local.is_some();
    let probed = match (is_good, is_local) {
        (true, _) => Probed::Good,
        (false, true) => Probed::Absent,
        (false, false) => Probed::Failed,
    };
    if provider.health.policy.is_some() && provider.health.probed(probed) {
        let provider = &*provider.name;
        if is_good {
            tracing::info!(provider, "provider healthy");
        } else {
            tracing::warn!(provider, "provider marked down: its probes fail");
        }
    }
}

/// The models of a provider; `None` if its answer is not a list of models.
async fn models(provider: &Provider) -> Result<Option<Vec<config::Model>>, ()> {
    if let Some(program) = &provider.program {
        let voices = espeak::voices(program).await;
        if let Err(why) = &voices {
            tracing::warn!(provider = %provider.name, why, "cannot use a program");
        }
        provider.trouble.store(voices.as_ref().err().cloned().map(Arc::new));
        return voices.map(Some).map_err(drop);
    }
    let policy = provider.health.policy.clone().unwrap_or_default();
    let (status, body) = provider.ask(&policy.path, None, policy.timeout).await.map_err(drop)?;
    provider.note_status(AskedBy::Probe, status.as_u16());
    if !status.is_success() {
        return Err(());
    }
    Ok(serde_json::from_slice::<List>(&body).ok().map(|list| {
        let models = list.data.into_iter().take(config::MAX_MODELS);
        models.filter(|model| is_name(&model.id)).map(found).collect()
    }))
}

fn found(listed: Listed) -> config::Model {
    let context_length = listed.context_length;
    config::Model { context_length, ..config::Model::new(listed.id) }
}

fn is_name(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_MODEL_NAME && !id.chars().any(char::is_control)
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
        let outcome = result.as_ref().map_or_else(Failure::as_str, |_| "ok");
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
        let (what, status, cause) = (failure.as_str(), failure.status(), failure.cause());
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
