//! Capabilities of a caller, and why others are unavailable.

use gateway_store::{KeyRecord, Scope};
use wire::capability::{Capability as View, CapableModel};
use wire::research::Depth;

use crate::catalogue::Model;
use crate::config::{Capability, Operation};
use crate::identity::may_use;
use crate::media;
use crate::research;
use crate::upstreams::Upstreams;
use crate::web_services::WebServices;

const READER: &str = "builtin/reader";

const ALL: &[(Capability, Scope)] = &[
    (Capability::Chat, Scope::Chat),
    (Capability::Responses, Scope::Responses),
    (Capability::Research, Scope::Research),
    (Capability::Image, Scope::Media),
    (Capability::Speech, Scope::Media),
    (Capability::Transcription, Scope::Media),
    (Capability::Embeddings, Scope::Chat),
    (Capability::Moderation, Scope::Chat),
    (Capability::Rerank, Scope::Chat),
    (Capability::WebSearch, Scope::Search),
    (Capability::WebFetch, Scope::Fetch),
];

pub(crate) struct Capabilities<'a> {
    pub(crate) upstreams: &'a Upstreams,
    pub(crate) web: &'a WebServices,
    pub(crate) caller: &'a KeyRecord,
}

impl Capabilities<'_> {
    pub(crate) fn list(&self) -> Vec<View> {
        ALL.iter().map(|&(capability, scope)| self.view(capability, scope)).collect()
    }

    fn view(&self, capability: Capability, scope: Scope) -> View {
        let models = self.models(capability);
        let reason = if !self.caller.key.scopes.contains(&scope) {
            Some(format!("this key lacks the scope `{}`", scope.as_str()))
        } else if models.is_empty() {
            Some("no model or service that this key may use is configured for it".to_owned())
        } else if models.iter().all(|model| !model.usable) {
            Some("all configured models and services for it are currently unavailable".to_owned())
        } else {
            None
        };
        View { id: capability.as_str().to_owned(), usable: reason.is_none(), reason, models }
    }

    /// The models and services that the caller may use for a capability.
    fn models(&self, capability: Capability) -> Vec<CapableModel> {
        let config = &self.upstreams.config;
        let price = |operation| config.prices.default_of(operation);
        match capability {
            Capability::WebSearch => {
                let price_micros = price(Operation::Search);
                let providers = self.web.search.providers();
                let model = |(name, usable): (&str, bool)| CapableModel {
                    id: name.to_owned(),
                    usable,
                    price_micros,
                };
                providers.map(model).collect()
            }
            Capability::WebFetch => {
                let price_micros = price(Operation::Fetch);
                vec![CapableModel { id: READER.to_owned(), usable: true, price_micros }]
            }
            Capability::Image | Capability::Speech | Capability::Transcription => {
                let models = media::models(self.upstreams, self.caller, capability);
                let price = |model: &Model| model.prices.of(Operation::Media).get();
                models.iter().map(|model| view_of(model, price(model))).collect()
            }
            Capability::Chat
            | Capability::Responses
            | Capability::Embeddings
            | Capability::Moderation
            | Capability::Rerank => {
                let operation = capability.operation().unwrap_or(Operation::Chat);
                self.of_catalogue(capability, |model| model.prices.of(operation).get())
            }
            Capability::Research => {
                // Every chat model can do research, if a search is possible.
                let price =
                    |model: &Model| research::price_micros(config, Depth::Standard, &model.id);
                let mut models = self.of_catalogue(Capability::Chat, price);
                let can_search = self.web.search.is_usable();
                for model in &mut models {
                    model.usable &= can_search;
                }
                models
            }
        }
    }

    fn of_catalogue(
        &self,
        capability: Capability,
        price: impl Fn(&Model) -> i64,
    ) -> Vec<CapableModel> {
        let catalogue = self.upstreams.catalogue.load();
        let models = catalogue.models();
        let able =
            models.filter(|model| model.is_for(capability) && may_use(self.caller, &model.id));
        able.map(|model| view_of(model, price(model))).collect()
    }
}

fn view_of(model: &Model, price_micros: i64) -> CapableModel {
    CapableModel { id: model.id.to_string(), usable: model.is_usable(), price_micros }
}
