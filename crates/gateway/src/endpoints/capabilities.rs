//! `GET /v1/capabilities`: what can be done with this key at this moment.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use wire::capability::CapabilityList;

use super::operations::json;
use super::own;
use crate::capability;
use crate::config::Operation;
use crate::failure::ApiError;
use crate::server::Arrival;
use crate::service::Service;

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = service.caller(&headers).await?;
    let work = async {
        let data = capability::list(&service, &caller);
        Ok(json(&CapabilityList { object: "list".to_owned(), data }))
    };
    own::answer(&service, &arrival, &caller, Operation::Capabilities, work).await
}
