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
use web_reader::Reader;
use wire::error::Code;

use super::admission::Received;
use super::model_request::{self, ModelApi, ModelRequest};
use crate::caps::{self, Conversation};
use crate::catalogue::{Model, Target};
use crate::config::{Capability, Operation};
use crate::failure::{ApiError, Dialect};
use crate::images::{self, Images, Remote};
use crate::proxy::chat_request::ChatRequest;
use crate::raw_object::{RawObject, check_values};
use crate::request_info::RequestInfo;

pub(super) async fn create(
    State(api): State<Arc<ModelApi>>,
    Extension(info): Extension<RequestInfo>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let RequestInfo { id, span, .. } = info;
    let received = api.admission.receive(request, Scope::Chat, "chat").await?;
    let Received { caller, bytes, idempotency } = received;

    let object = RawObject::parse(&bytes)?;
    let asked: String = model_request::required(&object, "model")?;
    check_messages(&object)?;
    let is_streamed = object.read("stream", "a boolean")?.unwrap_or(false);
    let wants_usage = is_streamed && wants_usage(&object);
    let model = api.upstreams.resolve(&caller, &asked, Capability::Chat)?;

    let (max_tokens, remote) = check_conversation(&api, &model, &object)?;
    let mut request = ChatRequest {
        id,
        body: bytes.clone(),
        rest: None,
        is_streamed,
        wants_usage,
        model: Some(model.quoted_id.clone()),
        max_tokens,
    };
    if remote == Remote::None {
        request.rest = ChatRequest::rest_of(&object, is_streamed);
    }
    let prepare = {
        let web = api.web.clone();
        async move {
            if remote == Remote::Fetched {
                request.body = with_images(&web.reader, &request.body).await?;
            }
            Ok(move |target: &Target| request.for_target(target))
        }
    };
    let (price, operation) = (model.chat_price, Operation::Chat);
    let dialect = Dialect::OpenAi;
    let request = ModelRequest { id, caller, model, price, operation, idempotency, span, dialect };
    request.answer(&api, is_streamed, None, prepare).await
}

/// Checks a conversation against the caps of its model. Returns the limit on tokens to send along,
/// and whether images must be fetched.
fn check_conversation(
    api: &ModelApi,
    model: &Model,
    object: &RawObject<'_>,
) -> Result<(Option<u64>, Remote), ApiError> {
    let mut images = Images::default();
    let mut bytes = 0;
    for messages in object.all_like("messages") {
        images = images.and(Images::in_text(messages)?);
        bytes += messages.len();
    }
    let remote = images.check_remote(api.config.remote_images)?;
    let conversation = Conversation { field: "messages", bytes, images: images.count };
    Ok((caps::check(&model.caps, object, &conversation)?, remote))
}

/// The body with its images inline.
async fn with_images(reader: &Reader, body: &Bytes) -> Result<Bytes, ApiError> {
    let object = RawObject::parse(body)?;
    let messages = object.raw("messages").unwrap_or("[]");
    check_values(messages.as_bytes())?;
    let mut messages: Value = serde_json::from_str(messages).map_err(|_| ApiError::internal())?;
    images::inline(reader, &mut messages).await?;
    Ok(object.rewrite(&[("messages", Some(&messages.to_string()))]).into())
}

pub(super) fn check_messages(object: &RawObject<'_>) -> Result<(), ApiError> {
    let wrong = |message: &str| ApiError::of_param(Code::InvalidRequest, "messages", message);
    match object.raw("messages") {
        None => Err(wrong("`messages` is missing")),
        Some(messages) if !messages.starts_with('[') => Err(wrong("`messages` must be a list")),
        Some(messages) if messages[1..].trim_start().starts_with(']') => {
            Err(wrong("`messages` must not be empty"))
        }
        Some(_) => Ok(()),
    }
}

fn wants_usage(object: &RawObject<'_>) -> bool {
    let Some(options) = object.raw("stream_options") else { return false };
    let Ok(options) = RawObject::parse(options.as_bytes()) else { return false };
    options.raw("include_usage") == Some("true")
}
