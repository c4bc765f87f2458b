//! `GET /v1/models` and `GET /v1/capabilities`: the models that a key may use, and what it can do now.

use std::sync::Arc;

use axum::response::Response;
use gateway_store::Scope;
use ledger::Time;
use serde::Deserialize;
use serde_json::{Value, json};
use wire::capability::CapabilityList;
use wire::error::Code;
use wire::model::{Model as ModelView, ModelList};

use super::admission::{MemberRead, ReadAccess};
use super::json;
use super::path::{Id, RawQuery, parse_query};
use crate::capability::Capabilities;
use crate::catalogue::Model;
use crate::clock;
use crate::config::Operation;
use crate::failure::{ApiError, ApiResult};
use crate::identity::{Caller, may_use};

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
