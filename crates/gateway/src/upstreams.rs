//! The upstreams of the service: providers, and the catalogue of their models.

mod attempt;
mod probing;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use gateway_store::KeyRecord;
use wire::error::Code;

pub(crate) use attempt::Attempt;

use crate::catalogue::{Catalogue, Model};
use crate::clock;
use crate::config::{Capability, Config};
use crate::failure::{ApiError, ApiResult};
use crate::identity::may_use;
use crate::metrics::Metrics;
use crate::provider::Provider;
use crate::trace::Tracer;

/// The wait that a client is advised when no provider of a model is usable.
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

    /// The chat model for a caller that names none: the preferred one, or the first that is usable.
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
