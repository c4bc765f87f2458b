//! `GET /v1/models`: the models that a key may use.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use gateway_store::Scope;
use http::HeaderMap;
use wire::error::Code;
use wire::model::{Model as ModelView, ModelList};

use super::admission::{ReadAccess, RequestAdmission};
use super::json::json;
use super::path::Id;
use crate::catalogue::Model;
use crate::config::Operation;
use crate::failure::ApiError;
use crate::identity::{Caller, may_use};
use crate::request_info::RequestInfo;
use crate::upstreams::Upstreams;

const ACCESS: ReadAccess = ReadAccess { scope: Scope::Models, operation: Operation::Models };

pub(super) async fn list(
    State(upstreams): State<Arc<Upstreams>>,
    State(admission): State<Arc<RequestAdmission>>,
    Extension(info): Extension<RequestInfo>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let list = async |caller: &Caller| {
        let catalogue = upstreams.catalogue.load();
        let models = catalogue.models().filter(|model| may_use(caller, &model.id));
        let data = models.map(|model| view(model)).collect();
        Ok(json(&ModelList { object: "list".to_owned(), data }))
    };
    admission.read(&info, &headers, ACCESS, list).await
}

pub(super) async fn find(
    State(upstreams): State<Arc<Upstreams>>,
    State(admission): State<Arc<RequestAdmission>>,
    Extension(info): Extension<RequestInfo>,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let find = async |caller: &Caller| {
        let catalogue = upstreams.catalogue.load();
        match catalogue.model(&id).filter(|model| may_use(caller, &model.id)) {
            Some(model) => Ok(json(&view(model))),
            None => Err(ApiError::new(Code::NotFound, "there is no such model for this key")),
        }
    };
    admission.read(&info, &headers, ACCESS, find).await
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
