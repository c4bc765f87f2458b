//! One call of a tool: its arguments become a request to a route of the service, and the response
//! becomes a result.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, Request};
use http_body_util::{BodyExt, Limited};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wire::error::Code;
use wire::whole::Whole;

use super::answer::{self, ResultStyle};
use super::tools::{MAX_CHARS, MAX_MODELS, MAX_WAIT, MODELS, PAGE_CHARS, ToolKind, ToolSpec};
use crate::endpoints::internal_call::{InternalCalls, get, job_address, post};
use crate::failure::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::request_info::RequestInfo;
use crate::request_log::RequestLog;
use crate::response_headers;

const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// The largest file that is embedded in a result.
const MAX_INLINE_BYTES: u64 = 1024 * 1024;
const REQUEST_ID: &str = "agent/request_id";
const CHARGE: &str = "agent/charge_micros";
const PRICE: &str = "agent/price_micros";
const STATUS: &str = "agent/status";
const CODE: &str = "agent/code";

/// Calls a tool. A failure is a result too.
pub(super) async fn run(
    calls: &InternalCalls,
    head: &Parts,
    tool: &ToolSpec,
    arguments: JsonObject,
) -> CallToolResult {
    let info = head.extensions.get::<RequestInfo>();
    let log = head.extensions.get::<Arc<RequestLog>>();
    let answering = answer(calls, head, tool, arguments);
    let answered = match log {
        Some(log) => log.scope(answering).await,
        None => answering.await,
    };
    answered.unwrap_or_else(|error| failed(info, &error))
}

async fn answer(
    calls: &InternalCalls,
    head: &Parts,
    tool: &ToolSpec,
    arguments: JsonObject,
) -> ApiResult<CallToolResult> {
    let info = head.extensions.get::<RequestInfo>().ok_or_else(ApiError::internal)?;
    let caller = head.extensions.get::<Caller>().ok_or_else(ApiError::no_key)?;
    let mut arguments = Arguments { tool, rest: arguments };
    let (request, shown) = request(calls, caller, tool.what, &mut arguments)?;
    arguments.finish()?;
    let response = calls.send(info, &head.headers, request).await?;
    let mut meta = MetaObject::default();
    meta.insert(REQUEST_ID.to_owned(), json!(info.id.to_string()));
    for (name, header) in [(CHARGE, &response_headers::CHARGE), (PRICE, &response_headers::PRICE)] {
        if let Some(micros) = micros(&response, header) {
            meta.insert(name.to_owned(), json!(micros));
        }
    }
    let bytes = read(response).await?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| ApiError::internal())?;
    let (text, structured) = answer::of(&shown, value);
    let mut content = vec![ContentBlock::text(text)];
    if shown == ResultStyle::Made {
        content.extend(first_made(calls, caller, &structured).await);
    }
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(structured);
    result.meta = Some(meta);
    Ok(result)
}

fn request(
    calls: &InternalCalls,
    caller: &Caller,
    what: ToolKind,
    arguments: &mut Arguments<'_>,
) -> ApiResult<(Request<Body>, ResultStyle)> {
    Ok(match what {
        ToolKind::Capabilities => (get("/v1/capabilities")?, ResultStyle::AsItIs),
        ToolKind::Account => (get("/v1/me")?, ResultStyle::AsItIs),
        ToolKind::Models => {
            let contains = arguments.text("contains")?.unwrap_or_default();
            let limit = arguments.number("limit", 1, MAX_MODELS)?.unwrap_or(MODELS);
            (get("/v1/models")?, ResultStyle::Models { contains, limit })
        }
        ToolKind::Ask => {
            let prompt = arguments.required("prompt")?;
            let model = match arguments.text("model")? {
                Some(model) => model,
                None => any_model(calls, caller)?,
            };
            let mut messages = Vec::new();
            if let Some(system) = arguments.text("system")? {
                messages.push(json!({"role": "system", "content": system}));
            }
            messages.push(json!({"role": "user", "content": prompt}));
            let mut body = json!({"model": model, "messages": messages});
            for name in ["max_tokens", "temperature"] {
                if let (Some(value), Some(body)) = (arguments.take(name), body.as_object_mut()) {
                    body.insert(name.to_owned(), value);
                }
            }
            (post("/v1/chat/completions", body.to_string())?, ResultStyle::Answer)
        }
        ToolKind::Search => (post("/v1/search", arguments.all())?, ResultStyle::Results),
        ToolKind::Fetch => {
            let has_links = arguments.read("links", "true or false")?.unwrap_or(false);
            let chars = arguments.number("max_chars", 1, MAX_CHARS)?.unwrap_or(PAGE_CHARS);
            arguments.rest.insert("max_chars".to_owned(), json!(chars));
            (post("/v1/web/fetch", arguments.all())?, ResultStyle::Page { has_links })
        }
        ToolKind::Media => {
            let model = arguments.required("model")?;
            let mut input: JsonObject = arguments.read("options", "an object")?.unwrap_or_default();
            for name in ["prompt", "text"] {
                input.extend(arguments.text(name)?.map(|text| (name.to_owned(), json!(text))));
            }
            let body = json!({"model": model, "input": input});
            (post("/v1/media/run", body.to_string())?, ResultStyle::Made)
        }
        ToolKind::StartResearch => (post("/v1/research/jobs", arguments.all())?, ResultStyle::Job),
        ToolKind::Research => {
            let id = arguments.required("id")?;
            let wait = arguments.number("wait_s", 0, MAX_WAIT)?.unwrap_or(0);
            (get(&format!("{}?wait={wait}", job_address(&id)))?, ResultStyle::Job)
        }
    })
}

/// The first file of a run, if it is small enough.
async fn first_made(calls: &InternalCalls, caller: &Caller, run: &Value) -> Option<ContentBlock> {
    let artifact = &run["artifacts"][0];
    if artifact["bytes"].as_u64()? > MAX_INLINE_BYTES {
        return None;
    }
    let found = calls.artifact(caller.key.member, artifact["id"].as_str()?).await;
    let bytes = read(found.ok()?).await.ok()?;
    let (data, media_type) = (BASE64.encode(bytes), artifact["media_type"].as_str()?);
    match media_type.split_once('/')?.0 {
        "image" => Some(ContentBlock::image(data, media_type)),
        "audio" => Some(ContentBlock::audio(data, media_type)),
        _ => None,
    }
}

/// The default model of a caller: the first usable one.
fn any_model(calls: &InternalCalls, caller: &Caller) -> ApiResult<String> {
    calls.upstreams.default_chat_model(caller, None).map(|model| model.id.to_string()).ok_or_else(
        || {
            let message = "no chat model that this key may use is currently available";
            ApiError::new(Code::CapabilityUnavailable, message)
        },
    )
}

struct Arguments<'a> {
    tool: &'a ToolSpec,
    rest: JsonObject,
}

impl Arguments<'_> {
    fn take(&mut self, name: &str) -> Option<Value> {
        // Many models write omitted arguments as null.
        self.rest.remove(name).filter(|value| !value.is_null())
    }

    fn read<T: DeserializeOwned>(&mut self, name: &str, wanted: &str) -> ApiResult<Option<T>> {
        let value = self.take(name).map(serde_json::from_value);
        value.transpose().map_err(|_| wrong(name, wanted))
    }

    fn text(&mut self, name: &str) -> ApiResult<Option<String>> {
        self.read(name, "a string")
    }

    fn required(&mut self, name: &str) -> ApiResult<String> {
        let text = self.text(name)?;
        text.filter(|text| !text.trim().is_empty())
            .ok_or_else(|| ApiError::invalid(name, format!("`{name}` is missing or empty")))
    }

    fn number(&mut self, name: &str, min: u32, max: u32) -> ApiResult<Option<u32>> {
        let wanted = format!("a whole number from {min} to {max}");
        match self.read(name, &wanted)? {
            Some(Whole(number)) if !(min..=max).contains(&number) => Err(wrong(name, &wanted)),
            number => Ok(number.map(|Whole(number)| number)),
        }
    }

    /// All remaining arguments as a body; the route validates it.
    fn all(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.rest);
        rest.retain(|_, value| !value.is_null());
        Value::Object(rest).to_string()
    }

    fn finish(&self) -> ApiResult<()> {
        let Some(name) = self.rest.keys().next() else { return Ok(()) };
        let shown: String = name.chars().take(64).collect();
        let message = format!("unknown argument `{shown}` of `{}`", self.tool.name);
        Err(ApiError::invalid(shown, message))
    }
}

fn wrong(name: &str, wanted: &str) -> ApiError {
    ApiError::invalid(name, format!("`{name}` must be {wanted}"))
}

fn micros(response: &Response, header: &HeaderName) -> Option<i64> {
    response.headers().get(header)?.to_str().ok()?.parse().ok()
}

async fn read(response: Response) -> ApiResult<Bytes> {
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES);
    let read = body
        .collect()
        .await
        .map_err(|_| ApiError::new(Code::UpstreamUnavailable, "the response is too large"))?;
    Ok(read.to_bytes())
}

/// A failure as text for a model.
fn failed(info: Option<&RequestInfo>, error: &ApiError) -> CallToolResult {
    let code = error.code();
    let mut text = format!("{} ({}, {})", error.message(), code.as_str(), code.status());
    let detail = error.detail(None);
    if let (Some(needed), Some(available)) = (detail.needed_micros, detail.available_micros) {
        text.push_str(&format!(": {needed} micro-credits are needed, {available} are available"));
    }
    let mut meta = MetaObject::default();
    meta.insert(STATUS.to_owned(), json!(code.status()));
    meta.insert(CODE.to_owned(), json!(code.as_str()));
    if let Some(info) = info {
        meta.insert(REQUEST_ID.to_owned(), json!(info.id.to_string()));
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.meta = Some(meta);
    result
}
