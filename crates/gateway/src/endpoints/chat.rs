//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use gateway_store::Scope;
use http::Request;
use serde_json::Value;
use wire::error::Code;

use super::paid::{self, Paid, Received};
use crate::caps::{self, Conversation};
use crate::catalogue::{Model, Target};
use crate::config::{Capability, Operation};
use crate::envelope::{Envelope, check_values};
use crate::failure::ApiError;
use crate::images::{self, Images, Remote};
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

    let (max_tokens, remote) = check_conversation(&service, &model, &envelope)?;
    let mut ask = Ask {
        id,
        body: bytes.clone(),
        rest: None,
        is_streamed,
        wants_usage,
        model: Some(model.quoted_id.clone()),
        max_tokens,
    };
    if remote == Remote::None {
        ask.rest = Ask::rest_of(&envelope, is_streamed);
    }
    let prepare = {
        let service = service.clone();
        async move {
            if remote == Remote::Fetched {
                ask.body = with_images(&service, &ask.body).await?;
            }
            Ok(move |target: &Target| ask.chat(target))
        }
    };
    let price = model.chat_price;
    let paid = Paid { id, caller, model, price, operation: Operation::Chat, idempotency, traced };
    paid.answer(&service, is_streamed, None, prepare).await
}

/// Checks a conversation against the caps of its model. Returns the limit on tokens to send along,
/// and whether images must be fetched.
fn check_conversation(
    service: &Service,
    model: &Model,
    envelope: &Envelope<'_>,
) -> Result<(Option<u64>, Remote), ApiError> {
    let mut images = Images::default();
    let mut bytes = 0;
    for messages in envelope.all_like("messages") {
        images = images.and(Images::in_text(messages)?);
        bytes += messages.len();
    }
    let remote = images.check_remote(service.config.remote_images)?;
    let conversation = Conversation { field: "messages", bytes, images: images.count };
    Ok((caps::check(&model.caps, envelope, &conversation)?, remote))
}

/// The body with its images inline.
async fn with_images(service: &Service, body: &Bytes) -> Result<Bytes, ApiError> {
    let envelope = Envelope::parse(body)?;
    let messages = envelope.raw("messages").unwrap_or("[]");
    check_values(messages.as_bytes())?;
    let mut messages: Value = serde_json::from_str(messages).map_err(|_| ApiError::internal())?;
    images::inline(service, &mut messages).await?;
    Ok(envelope.rewrite(&[("messages", Some(&messages.to_string()))]).into())
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
