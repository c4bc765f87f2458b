//! `GET /v1/models`: what there is for this key.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use gateway_store::Scope;
use http::HeaderMap;
use wire::error::Code;
use wire::model::{Model as ModelView, ModelList};

use super::operations::json;
use super::path::Id;
use crate::catalogue::Model;
use crate::failure::ApiError;
use crate::identity::{check_scope, may_use};
use crate::service::Service;

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = service.caller(&headers).await?;
    check_scope(&caller, Scope::Models)?;
    let room = service.store.admit(caller.key.member, caller.key.lineage).await??;
    let catalogue = service.catalogue.load();
    let models = catalogue.models().filter(|model| may_use(&caller, &model.id));
    let list =
        ModelList { object: "list".to_owned(), data: models.map(|model| view(model)).collect() };
    Ok(json(&list, room.as_ref()))
}

pub(super) async fn find(
    State(service): State<Arc<Service>>,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = service.caller(&headers).await?;
    check_scope(&caller, Scope::Models)?;
    let room = service.store.admit(caller.key.member, caller.key.lineage).await??;
    let catalogue = service.catalogue.load();
    match catalogue.model(&id).filter(|model| may_use(&caller, &model.id)) {
        Some(model) => Ok(json(&view(model), room.as_ref())),
        None => Err(ApiError::new(Code::NotFound, "there is no such model for this key")),
    }
}

fn view(model: &Model) -> ModelView {
    ModelView {
        id: model.id.clone(),
        object: "model".to_owned(),
        created: model.created,
        owned_by: model.owned_by.clone(),
        capabilities: model.capabilities.iter().map(|word| word.word().to_owned()).collect(),
        price_micros: model.chat_price.get(),
        context_length: model.context_length,
        description: model.description.clone(),
    }
}
