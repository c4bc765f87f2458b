//! `GET /v1/models` and `GET /v1/capabilities`: the models that a key may use, and what it can do now.

use std::sync::Arc;

use axum::response::Response;
use gateway_store::{KeyRecord, Scope};
use ledger::Time;
use serde::Deserialize;
use serde_json::{Value, json};
use wire::capability::{Capability as View, CapabilityList, CapableModel};
use wire::error::Code;
use wire::model::{Model as ModelView, ModelList};
use wire::research::Depth;

use super::admission::{MemberRead, ReadAccess};
use super::{Id, RawQuery, json, parse_query};
use crate::catalogue::Model;
use crate::config::{Capability, Operation};
use crate::failure::{ApiError, ApiResult};
use crate::identity::{Caller, may_use};
use crate::upstreams::Upstreams;
use crate::web_services::WebServices;
use crate::{clock, media, research};

/// Header that distinguishes Anthropic's clients from OpenAI's.
pub(crate) const ANTHROPIC_VERSION: &str = "anthropic-version";

const ACCESS: ReadAccess = ReadAccess { scope: Some(Scope::Models), operation: Operation::Models };

pub(super) async fn list(query: RawQuery<PageQuery>, read: MemberRead) -> ApiResult {
    let list = async |caller: &Caller| {
        let catalogue = read.service.upstreams.catalogue.load();
        let models = catalogue.models().filter(|model| may_use(caller, &model.id));
        if read.headers.contains_key(ANTHROPIC_VERSION) {
            return Ok(page(&models.collect::<Vec<_>>(), &parse_query(query)?));
        }
        let data = models.map(|model| view(model)).collect();
        Ok(json(&ModelList { object: "list".to_owned(), data }))
    };
    read.answer(ACCESS, list).await
}

pub(super) async fn find(Id(id): Id, read: MemberRead) -> ApiResult {
    let find = async |caller: &Caller| {
        let catalogue = read.service.upstreams.catalogue.load();
        match catalogue.model(&id).filter(|model| may_use(caller, &model.id)) {
            Some(model) if read.headers.contains_key(ANTHROPIC_VERSION) => {
                Ok(json(&anthropic_view(model)))
            }
            Some(model) => Ok(json(&view(model))),
            None => Err(ApiError::new(Code::NotFound, "no such model, or this key may not use it")),
        }
    };
    read.answer(ACCESS, find).await
}

#[derive(Debug, Deserialize)]
pub(super) struct PageQuery {
    limit: Option<usize>,
    after_id: Option<String>,
    before_id: Option<String>,
}

fn page(models: &[&Arc<Model>], query: &PageQuery) -> Response {
    let place = |id: &Option<String>| {
        id.as_ref().and_then(|id| models.iter().position(|model| *model.id == **id))
    };
    let start = place(&query.after_id).map_or(0, |place| place + 1);
    let end = place(&query.before_id).unwrap_or(models.len()).max(start);
    let limit = query.limit.unwrap_or(models.len()).max(1);
    let data: Vec<Value> =
        models[start..end].iter().take(limit).map(|model| anthropic_view(model)).collect();
    let id = |model: Option<&Value>| model.map(|model| model["id"].clone());
    json(&json!({
        "has_more": end - start > limit,
        "first_id": id(data.first()),
        "last_id": id(data.last()),
        "data": data,
    }))
}

fn anthropic_view(model: &Model) -> Value {
    json!({
        "type": "model",
        "id": &*model.id,
        "display_name": &*model.id,
        "created_at": clock::rfc3339(Time::from_micros(model.created * 1_000_000)),
    })
}

fn view(model: &Model) -> ModelView {
    ModelView {
        id: model.id.to_string(),
        object: "model".to_owned(),
        created: model.created,
        owned_by: model.owned_by.clone(),
        capabilities: model.capabilities.iter().map(|word| word.as_str().to_owned()).collect(),
        price_micros: model.usual_price().get(),
        context_length: model.context_length,
        tools: model.tools,
        description: model.description.clone(),
    }
}

pub(super) async fn capabilities(read: MemberRead) -> ApiResult {
    let access = ReadAccess { scope: None, operation: Operation::Capabilities };
    let (upstreams, web) = (&*read.service.upstreams, &*read.service.web);
    read.answer(access, async |caller: &Caller| {
        let data = Capabilities { upstreams, web, caller }.list();
        Ok(json(&CapabilityList { object: "list".to_owned(), data }))
    })
    .await
}

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

struct Capabilities<'a> {
    upstreams: &'a Upstreams,
    web: &'a WebServices,
    caller: &'a KeyRecord,
}

impl Capabilities<'_> {
    fn list(&self) -> Vec<View> {
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
