//! `POST /mcp`: the service's operations as tools. It is no operation of the document, because it is
//! described by its protocol.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use gateway_store::Scope;
use http::Request;

use super::body;
use crate::envelope::check_values;
use crate::failure::ApiError;
use crate::mcp::{self, Endpoint, Message};
use crate::request_log;
use crate::service::Service;

/// Adds the path.
pub(super) fn add(router: Router<Arc<Service>>, service: &Arc<Service>) -> Router<Arc<Service>> {
    let endpoint = Arc::new(Endpoint::new(service));
    router.route(mcp::PATH, post(answer).layer(Extension(endpoint)))
}

async fn answer(
    State(service): State<Arc<Service>>,
    Extension(endpoint): Extension<Arc<Endpoint>>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let (mut head, body) = request.into_parts();
    let config = &service.config;
    let known = mcp::check_peer(&head.headers, &config.public_url, &config.mcp);
    let caller = match known {
        Ok(()) => service.caller_for(&head.headers, Scope::Mcp).await,
        Err(error) => Err(error),
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => {
            body::discard(&head.headers, body);
            return Err(error);
        }
    };
    let bytes = body::read(&service, &head.headers, body).await?;
    check_values(&bytes)?;
    let bytes = service.parsing.admit(bytes, config.limits.body_timeout).await?;
    let message = Message::read(&bytes);
    // What cannot be read counts as well: somebody sent it.
    if message.as_ref().is_none_or(Message::is_counted) {
        service.store.admit(caller.key.member, caller.key.lineage).await??;
    }
    // The tools do not need it, and would keep it as long as they run.
    head.extensions.remove::<Arc<Endpoint>>();
    if let Some(log) = request_log::current() {
        head.extensions.insert(log);
    }
    let request = Request::from_parts(head, bytes.clone());
    Ok(endpoint.answer(caller, request, message.as_ref()).await)
}
