//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use gateway_store::Scope;
use http::Request;
use wire::error::Code;

use super::paid::{self, Paid, Received};
use crate::config::{Capability, Operation};
use crate::envelope::Envelope;
use crate::failure::ApiError;
use crate::proxy::ask::Ask;
use crate::server::Arrival;
use crate::service::Service;

pub(super) async fn create(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let Arrival { id, traced, .. } = arrival;
    let received = paid::receive(&service, request, Scope::Chat, "chat").await?;
    let Received { caller, bytes, idempotency } = received;

    let envelope = Envelope::parse(&bytes)?;
    let asked: String = paid::required(&envelope, "model")?;
    check_messages(&envelope)?;
    let is_streamed = envelope.read("stream", "a boolean")?.unwrap_or(false);
    let wants_usage = is_streamed && wants_usage(&envelope);
    let model = paid::resolve(&service, &caller, &asked, Capability::Chat)?;

    let ask = Arc::new(Ask {
        id,
        body: bytes.clone(),
        rest: Ask::rest_of(&envelope, is_streamed),
        is_streamed,
        wants_usage,
    });
    let price = model.chat_price;
    let paid = Paid { id, caller, model, price, operation: Operation::Chat, idempotency, traced };
    paid.answer(&service, is_streamed, None, move |target| ask.chat(target)).await
}

fn check_messages(envelope: &Envelope<'_>) -> Result<(), ApiError> {
    let wrong = |message: &str| ApiError::of_param(Code::InvalidRequest, "messages", message);
    match envelope.raw("messages") {
        None => Err(wrong("`messages` is missing")),
        Some(messages) if !messages.starts_with('[') => Err(wrong("`messages` must be a list")),
        Some(messages) if messages[1..].trim_start().starts_with(']') => {
            Err(wrong("`messages` must not be empty"))
        }
        Some(_) => Ok(()),
    }
}

fn wants_usage(envelope: &Envelope<'_>) -> bool {
    let Some(options) = envelope.raw("stream_options") else { return false };
    let Ok(options) = Envelope::parse(options.as_bytes()) else { return false };
    options.raw("include_usage") == Some("true")
}
