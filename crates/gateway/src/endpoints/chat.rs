//! `POST /v1/chat/completions`, and the older `POST /v1/completions`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use gateway_store::Scope;
use http::Request;
use ledger::LineageId;
use serde_json::Value;
use wire::error::Code;

use super::admission::Received;
use super::model_request::{self, AnswerForm, ModelApi, ModelRequest};
use crate::caps::{self, Conversation};
use crate::catalogue::{Model, Target};
use crate::config::{Capability, Operation};
use crate::failure::{ApiError, Dialect};
use crate::images::{self, Images, Remote};
use crate::provider::{CHAT_PATH, COMPLETIONS_PATH};
use crate::proxy::chat_request::ChatRequest;
use crate::raw_object::{RawObject, check_values};
use crate::request_info::RequestInfo;
use crate::web_services::WebServices;

/// One of both interfaces.
struct Interface {
    /// Separates the uses of one idempotency key.
    purpose: &'static str,
    /// The path of an upstream.
    path: &'static str,
    /// The field of the conversation.
    field: &'static str,
    check: fn(&RawObject<'_>) -> Result<(), ApiError>,
}

const CHAT: Interface =
    Interface { purpose: "chat", path: CHAT_PATH, field: "messages", check: check_messages };
const COMPLETIONS: Interface = Interface {
    purpose: "completions",
    path: COMPLETIONS_PATH,
    field: "prompt",
    check: check_prompt,
};

pub(super) async fn create(
    State(api): State<Arc<ModelApi>>,
    Extension(info): Extension<RequestInfo>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    answer(&api, info, request, CHAT).await
}

pub(super) async fn complete(
    State(api): State<Arc<ModelApi>>,
    Extension(info): Extension<RequestInfo>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    answer(&api, info, request, COMPLETIONS).await
}

async fn answer(
    api: &ModelApi,
    info: RequestInfo,
    request: Request<Body>,
    interface: Interface,
) -> Result<Response, ApiError> {
    let RequestInfo { id, span, .. } = info;
    let Interface { purpose, path, field, check } = interface;
    let received = api.admission.receive(request, Scope::Chat, purpose).await?;
    let Received { caller, bytes, idempotency } = received;

    let object = RawObject::parse(&bytes)?;
    let asked: String = model_request::required(&object, "model")?;
    check(&object)?;
    let is_streamed = object.read("stream", "a boolean")?.unwrap_or(false);
    let wants_usage = is_streamed && wants_usage(&object);
    let model = api.upstreams.resolve(&caller, &asked, Capability::Chat)?;

    let (max_tokens, remote) = check_conversation(api, &model, &object, field)?;
    let mut request = ChatRequest {
        id,
        path,
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
        let (web, key) = (api.web.clone(), caller.key.lineage);
        async move {
            if remote == Remote::Fetched {
                request.body = with_images(&web, key, &request.body).await?;
            }
            Ok(move |target: &Target| request.for_target(target))
        }
    };
    let (price, operation) = (model.prices.of(Operation::Chat), Operation::Chat);
    let dialect = Dialect::OpenAi;
    let request = ModelRequest { id, caller, model, price, operation, idempotency, span, dialect };
    request.answer(api, AnswerForm::streamed(is_streamed), None, prepare).await
}

/// Checks a conversation against the caps of its model. Returns the limit on tokens to send along,
/// and whether images must be fetched.
fn check_conversation(
    api: &ModelApi,
    model: &Model,
    object: &RawObject<'_>,
    field: &'static str,
) -> Result<(Option<u64>, Remote), ApiError> {
    let mut images = Images::default();
    let mut bytes = 0;
    for messages in object.all_like(field) {
        images = images.and(Images::in_text(messages)?);
        bytes += messages.len();
    }
    let remote = images.check_remote(api.config.remote_images)?;
    let conversation = Conversation { field, bytes, images: images.count };
    Ok((caps::check(&model.caps, object, &conversation)?, remote))
}

/// The body with its images inline.
async fn with_images(web: &WebServices, key: LineageId, body: &Bytes) -> Result<Bytes, ApiError> {
    let object = RawObject::parse(body)?;
    let messages = object.raw("messages").unwrap_or("[]");
    check_values(messages.as_bytes())?;
    let mut messages: Value = serde_json::from_str(messages).map_err(|_| ApiError::internal())?;
    images::inline(web, key, &mut messages).await?;
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

fn check_prompt(object: &RawObject<'_>) -> Result<(), ApiError> {
    match object.raw("prompt") {
        Some(prompt) if prompt.starts_with(['"', '[']) => Ok(()),
        _ => {
            let message = "`prompt` must be a string or a list";
            Err(ApiError::of_param(Code::InvalidRequest, "prompt", message))
        }
    }
}

fn wants_usage(object: &RawObject<'_>) -> bool {
    let Some(options) = object.raw("stream_options") else { return false };
    let Ok(options) = RawObject::parse(options.as_bytes()) else { return false };
    options.raw("include_usage") == Some("true")
}
