//! `POST /mcp`. It is not in the OpenAPI document, because the protocol describes it.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use gateway_store::Scope;
use http::Request;

use super::{Endpoint, Message, peer};
use crate::config::Config;
use crate::endpoints::admission::RequestAdmission;
use crate::endpoints::body;
use crate::failure::ApiError;
use crate::raw_object::check_values;
use crate::request_log;

pub(in crate::endpoints) async fn handle(
    State(config): State<Arc<Config>>,
    State(admission): State<Arc<RequestAdmission>>,
    Extension(endpoint): Extension<Arc<Endpoint>>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let (mut head, body) = request.into_parts();
    let caller = match peer::check(&head.headers, &config.public_url, &config.mcp) {
        Ok(()) => admission.identities.caller_for(&head.headers, Scope::Mcp).await,
        Err(error) => Err(error),
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => {
            body::discard(&head.headers, body);
            return Err(error);
        }
    };
    let bytes = admission.read_body(&head.headers, body).await?;
    check_values(&bytes)?;
    let bytes = admission.admit_parsing(bytes).await?;
    let message = Message::read(&bytes);
    // An unreadable message counts too.
    if message.as_ref().is_none_or(Message::is_counted) {
        admission.billing.admit(&caller).await?;
    }
    // Tools do not need it, and would hold it as long as they run.
    head.extensions.remove::<Arc<Endpoint>>();
    if let Some(log) = request_log::current() {
        head.extensions.insert(log);
    }
    let request = Request::from_parts(head, bytes.clone());
    Ok(endpoint.answer(caller, request, message.as_ref()).await)
}
