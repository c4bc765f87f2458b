//! `POST /v1/chat/completions`, and the older `POST /v1/completions`.

use bytes::Bytes;
use gateway_store::Scope;
use ledger::LineageId;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::admission::{MemberRequest, Received};
use super::model_request::{self, AnswerForm, ModelRequest};
use crate::caps::{self, Conversation};
use crate::catalogue::{Model, Target};
use crate::config::{Capability, Config, Operation};
use crate::failure::{ApiError, ApiResult, Dialect};
use crate::images::{self, Images, Remote};
use crate::provider::{CHAT_PATH, COMPLETIONS_PATH};
use crate::proxy::chat_request::ChatRequest;
use crate::raw_object::{RawObject, check_values};
use crate::web_services::WebServices;

struct Interface {
    /// Separates the uses of one idempotency key.
    purpose: &'static str,
    path: &'static str,
    field: &'static str,
    check: fn(&RawObject<'_>) -> ApiResult<()>,
}

const CHAT: Interface =
    Interface { purpose: "chat", path: CHAT_PATH, field: "messages", check: check_messages };
const COMPLETIONS: Interface = Interface {
    purpose: "completions",
    path: COMPLETIONS_PATH,
    field: "prompt",
    check: check_prompt,
};

pub(super) async fn create(request: MemberRequest) -> ApiResult {
    answer(request, CHAT).await
}

pub(super) async fn complete(request: MemberRequest) -> ApiResult {
    answer(request, COMPLETIONS).await
}

async fn answer(request: MemberRequest, interface: Interface) -> ApiResult {
    let Interface { purpose, path, field, check } = interface;
    let received = request.receive(Scope::Chat, purpose).await?;
    let Received { service, info, caller, bytes, idempotency } = received;

    let object = RawObject::parse(&bytes)?;
    let asked: String = model_request::required(&object, "model")?;
    check(&object)?;
    let is_streamed = object.read("stream", "a boolean")?.unwrap_or(false);
    let wants_usage = is_streamed && wants_usage(&object);
    let model = service.upstreams.resolve(&caller, &asked, Capability::Chat)?;

    let (max_tokens, remote) = check_conversation(&service.config, &model, &object, field)?;
    let mut request = ChatRequest {
        id: info.id,
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
    let (web, key) = (service.web.clone(), caller.key.lineage);
    let prepare = async move {
        if remote == Remote::Fetched {
            request.body = with_images(&web, key, &request.body).await?;
        }
        Ok(move |target: &Target| request.for_target(target))
    };
    let (operation, dialect) = (Operation::Chat, Dialect::OpenAi);
    let request = ModelRequest { info, caller, model, operation, idempotency, dialect };
    request.answer(&service, AnswerForm::streamed(is_streamed), None, prepare).await
}

/// Checks a conversation against the caps of its model. Returns the limit on tokens to send along,
/// and whether images must be fetched.
fn check_conversation(
    config: &Config,
    model: &Model,
    object: &RawObject<'_>,
    field: &'static str,
) -> ApiResult<(Option<u64>, Remote)> {
    let mut images = Images::default();
    let mut bytes = 0;
    for messages in object.all_like(field) {
        images = images.and(Images::in_text(messages)?);
        bytes += messages.len();
    }
    images::check_tools(config.remote_tools, object)?;
    let remote = images.check_remote(config.remote_images)?;
    let conversation = Conversation { field, bytes, images: images.count };
    Ok((caps::check(&model.caps, object, &conversation)?, remote))
}

async fn with_images(web: &WebServices, key: LineageId, body: &Bytes) -> ApiResult<Bytes> {
    let object = RawObject::parse(body)?;
    let messages = object.raw("messages").unwrap_or("[]");
    check_values(messages.as_bytes())?;
    let mut messages: Value = serde_json::from_str(messages).map_err(|_| ApiError::internal())?;
    images::inline(web, key, &mut messages).await?;
    Ok(object.rewrite(&[("messages", Some(&messages.to_string()))]).into())
}

pub(super) fn check_messages(object: &RawObject<'_>) -> ApiResult<()> {
    let wrong = |message: &str| ApiError::invalid("messages", message);
    match object.raw("messages") {
        None => Err(wrong("`messages` is missing")),
        Some(messages) if !messages.starts_with('[') => Err(wrong("`messages` must be a list")),
        Some(messages) if messages[1..].trim_start().starts_with(']') => {
            Err(wrong("`messages` must not be empty"))
        }
        Some(_) => Ok(()),
    }
}

fn check_prompt(object: &RawObject<'_>) -> ApiResult<()> {
    let wrong = |message: &str| Err(ApiError::invalid("prompt", message));
    match object.raw("prompt") {
        // Each prompt has its own answer, but the request has one price.
        Some(_) if object.all_like("prompt").any(has_several_prompts) => {
            wrong("`prompt` must be one prompt; send a request for each")
        }
        Some(prompt) if prompt.starts_with(['"', '[']) => Ok(()),
        _ => wrong("`prompt` must be a string or a list"),
    }
}

/// A list of numbers is one prompt, of tokens.
fn has_several_prompts(prompt: &str) -> bool {
    let Some(items) = prompt.strip_prefix('[').map(str::trim_start) else { return false };
    if items.starts_with(|first: char| matches!(first, '0'..='9' | '-' | ']')) {
        return false;
    }
    let mut values = serde_json::Deserializer::from_str(items).into_iter::<IgnoredAny>();
    let is_read = matches!(values.next(), Some(Ok(_)));
    !is_read || !items[values.byte_offset()..].trim_start().starts_with(']')
}

fn wants_usage(object: &RawObject<'_>) -> bool {
    let Some(options) = object.raw("stream_options") else { return false };
    let Ok(options) = RawObject::parse(options.as_bytes()) else { return false };
    options.raw("include_usage") == Some("true")
}
