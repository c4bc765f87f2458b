//! `GET /v1/models`: what there is for this key.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use gateway_store::Scope;
use http::HeaderMap;
use wire::error::Code;
use wire::model::{Model as ModelView, ModelList};

use super::operations::json;
use super::own;
use super::path::Id;
use crate::catalogue::Model;
use crate::config::Operation;
use crate::failure::ApiError;
use crate::identity::may_use;
use crate::server::Arrival;
use crate::service::Service;

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = service.caller_for(&headers, Scope::Models).await?;
    let work = async {
        let catalogue = service.catalogue.load();
        let models = catalogue.models().filter(|model| may_use(&caller, &model.id));
        let data = models.map(|model| view(model)).collect();
        Ok(json(&ModelList { object: "list".to_owned(), data }))
    };
    own::answer(&service, &arrival, &caller, Operation::Models, work).await
}

pub(super) async fn find(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = service.caller_for(&headers, Scope::Models).await?;
    let work = async {
        let catalogue = service.catalogue.load();
        match catalogue.model(&id).filter(|model| may_use(&caller, &model.id)) {
            Some(model) => Ok(json(&view(model))),
            None => Err(ApiError::new(Code::NotFound, "there is no such model for this key")),
        }
    };
    own::answer(&service, &arrival, &caller, Operation::Models, work).await
}

fn view(model: &Model) -> ModelView {
    ModelView {
        id: model.id.to_string(),
        object: "model".to_owned(),
        created: model.created,
        owned_by: model.owned_by.clone(),
        capabilities: model.capabilities.iter().map(|word| word.word().to_owned()).collect(),
        price_micros: model.usual_price().get(),
        context_length: model.context_length,
        tools: model.tools,
        description: model.description.clone(),
    }
}
