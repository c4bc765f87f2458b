//! `POST /v1/messages`: the Anthropic Messages API.

use std::sync::Arc;

use api_dialects::messages;
use bytes::Bytes;
use gateway_store::Scope;
use http::{HeaderMap, HeaderName, HeaderValue};
use ledger::LineageId;
use serde_json::{Value, json};

use super::admission::{MemberRequest, Received};
use super::chat::check_messages;
use super::json;
use super::model_request::{self, AnswerForm, ModelRequest};
use super::web_search::MemberSearcher;
use crate::caps::{self, Conversation};
use crate::catalogue::{Model, Target};
use crate::config::{Capability, Config, Kind, Operation};
use crate::failure::{ApiError, ApiResult, Dialect};
use crate::identity::Caller;
use crate::images::{self, Images, Remote};
use crate::provider::{COUNT_TOKENS_PATH, Failure, Owner, Sender};
use crate::proxy::begin::{refused, retry_after, unavailable};
use crate::proxy::messages_request::{BETA, MessagesRequest};
use crate::raw_object::{RawObject, tree};
use crate::upstreams::Upstreams;
use crate::web_services::WebServices;

/// Exceeds every model's output limit.
const MAX_TOKENS: f64 = 1e9;
/// Maximum size of an upstream's token count response.
const MAX_COUNT_BYTES: usize = 64 * 1024;

pub(super) async fn create(request: MemberRequest) -> ApiResult {
    let searcher = MemberSearcher::of_request(&request);
    let beta = beta(request.request.headers());
    let received = request.receive(Scope::Chat, "messages").await?;
    let Received { service, info, caller, bytes, idempotency } = received;

    let object = RawObject::parse(&bytes)?;
    let model = resolve(&service.upstreams, &caller, &object)?;
    let is_streamed = object.read("stream", "a boolean")?.unwrap_or(false);
    check_max_tokens(&object)?;
    let remote = check_conversation(&service.config, &model, &object)?;

    let mut request = MessagesRequest {
        body: bytes.clone(),
        rest: None,
        is_streamed,
        model: model.quoted_id.clone(),
        beta,
        searcher,
    };
    if remote == Remote::None {
        request.rest = MessagesRequest::rest_of(&object);
    }
    let (web, key) = (service.web.clone(), caller.key.lineage);
    let prepare = async move {
        if remote == Remote::Fetched {
            request.body = with_images(&web, key, &request.body).await?;
        }
        Ok(move |target: &Target| request.for_target(target))
    };
    // A message costs what a chat completion costs.
    let (operation, dialect) = (Operation::Chat, Dialect::Anthropic);
    let request = ModelRequest { info, caller, model, operation, idempotency, dialect };
    request.answer(&service, AnswerForm::streamed(is_streamed), None, prepare).await
}

/// Counts the tokens of a request: exact if the upstream supports it, else an estimate.
pub(super) async fn count_tokens(request: MemberRequest) -> ApiResult {
    let beta = beta(request.request.headers());
    let received = request.receive(Scope::Chat, "count_tokens").await?;
    let Received { service, info, caller, bytes, .. } = &received;
    let object = RawObject::parse(bytes)?;
    let model = resolve(&service.upstreams, caller, &object)?;
    check_conversation(&service.config, &model, &object)?;
    let work = async {
        let target = model.candidates().into_iter().next();
        let is_native = |target: &&Target| target.provider.kind == Kind::Anthropic;
        let tokens = if let Some(target) = target.filter(is_native) {
            let body = object.rewrite(&[("model", Some(&target.quoted_name))]);
            let sender = Sender { owner: Owner::Member(caller.key.member), span: info.span };
            let beta = beta.map(|beta| (BETA, beta));
            count_upstream(target, COUNT_TOKENS_PATH, body.into(), beta, sender).await?
        } else {
            let fields = tree(bytes)?;
            // A request that would be refused is not counted.
            messages::request(&fields)?;
            messages::estimate_input_tokens(&fields)
        };
        Ok(json(&json!({ "input_tokens": tokens })))
    };
    received.answer(Operation::CountTokens, work).await
}

pub(super) async fn count_upstream(
    target: &Target,
    path: &str,
    body: Bytes,
    header: Option<(HeaderName, HeaderValue)>,
    sender: Sender,
) -> ApiResult<u64> {
    let provider = &target.provider;
    let count = async {
        let mut upstream = provider.send(path, body.into(), header, sender).await?;
        let body = upstream.read(MAX_COUNT_BYTES).await?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let tokens = answer.get("input_tokens").and_then(Value::as_u64);
        tokens.ok_or(Failure::Malformed("the response has no `input_tokens`"))
    };
    count.await.map_err(|failure| match failure {
        Failure::Refused { message } => refused(message.as_deref()),
        failure => unavailable(retry_after(&failure)),
    })
}

fn check_max_tokens(object: &RawObject<'_>) -> ApiResult<()> {
    let limit: Option<f64> = object.read("max_tokens", "a whole number")?;
    let message = match limit {
        None => "`max_tokens` is missing",
        Some(limit) if !(1.0..=MAX_TOKENS).contains(&limit) || limit.fract() != 0.0 => {
            "`max_tokens` must be a whole number from 1 to 1000000000"
        }
        Some(_) => return Ok(()),
    };
    Err(ApiError::invalid("max_tokens", message))
}

fn resolve(
    upstreams: &Upstreams,
    caller: &Caller,
    object: &RawObject<'_>,
) -> ApiResult<Arc<Model>> {
    let asked: String = model_request::required(object, "model")?;
    check_messages(object)?;
    if object.raw("system").is_some_and(|system| !system.starts_with(['"', '['])) {
        return Err(ApiError::invalid("system", "`system` must be a string or a list"));
    }
    upstreams.resolve(caller, &asked, Capability::Chat)
}

/// The body with its images inline; documents must be inline already.
async fn with_images(web: &WebServices, key: LineageId, body: &Bytes) -> ApiResult<Bytes> {
    let object = RawObject::parse(body)?;
    let mut messages = tree(body)?.remove("messages").unwrap_or_default();
    images::inline_sources(web, key, &mut messages).await?;
    let messages = messages.to_string();
    Images::in_text(&messages)?.check_inline()?;
    Ok(object.rewrite(&[("messages", Some(&messages))]).into())
}

/// Checks a conversation against the caps of its model. Returns whether images must be fetched.
fn check_conversation(config: &Config, model: &Model, object: &RawObject<'_>) -> ApiResult<Remote> {
    let mut images = Images::default();
    let mut bytes = 0;
    for field in ["messages", "system"] {
        for value in object.all_like(field) {
            images = images.and(Images::in_text(value)?);
            bytes += value.len();
        }
    }
    images::check_tools(config.remote_tools, object)?;
    let remote = images.check_sources(config.remote_images)?;
    let conversation = Conversation { field: "messages", bytes, images: images.count };
    // The limit on tokens is always given.
    caps::check(&model.caps, object, &conversation)?;
    Ok(remote)
}

fn beta(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(BETA).cloned()
}
