//! One call of a tool: its arguments become a request to a path of the service, and the answer to
//! that becomes a result.

use std::sync::Arc;

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::HeaderName;
use http::request::Parts;
use http_body_util::{BodyExt, Limited};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde_json::{Value, json};
use wire::error::Code;
use wire::whole::Whole;

use super::answer;
use super::tools::{Known, MAX_CHARS, MAX_MODELS, MAX_WAIT, MODELS, PAGE_CHARS, What};
use crate::endpoints::inside::{self, Ask};
use crate::failure::ApiError;
use crate::identity::Caller;
use crate::rate;
use crate::request_log::RequestLog;
use crate::server::Arrival;
use crate::service::Service;

/// The most of an answer that is read.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// The largest file that a result holds itself.
const MAX_INLINE_BYTES: u64 = 1024 * 1024;
/// What a result says about the request behind it.
const REQUEST_ID: &str = "agent/request_id";
const CHARGE: &str = "agent/charge_micros";
const PRICE: &str = "agent/price_micros";
const STATUS: &str = "agent/status";
const CODE: &str = "agent/code";

/// Calls a tool. What goes wrong is a result too, which says what and why.
pub(super) async fn run(
    service: &Arc<Service>,
    head: &Parts,
    tool: &Known,
    arguments: JsonObject,
) -> CallToolResult {
    let Some(arrival) = head.extensions.get::<Arrival>().copied() else {
        return failed(None, &ApiError::internal());
    };
    // Tools run in tasks of their own.
    let log = head.extensions.get::<Arc<RequestLog>>();
    let answering = answer(service, head, &arrival, tool, arguments);
    let answered = match log {
        Some(log) => log.scope(answering).await,
        None => answering.await,
    };
    match answered {
        Ok(result) => result,
        Err(error) => failed(Some(&arrival), &error),
    }
}

async fn answer(
    service: &Arc<Service>,
    head: &Parts,
    arrival: &Arrival,
    tool: &Known,
    arguments: JsonObject,
) -> Result<CallToolResult, ApiError> {
    let caller = head.extensions.get::<Caller>().ok_or_else(ApiError::no_key)?;
    let mut said = Arguments { tool, rest: arguments };
    let (ask, shown) = question(service, caller, tool.what, &mut said)?;
    said.finish()?;
    let response = inside::ask(service, arrival, &head.headers, ask).await?;
    let mut meta = MetaObject::default();
    meta.insert(REQUEST_ID.to_owned(), json!(arrival.id.to_string()));
    for (name, header) in [(CHARGE, &rate::CHARGE), (PRICE, &rate::PRICE)] {
        if let Some(micros) = micros(&response, header) {
            meta.insert(name.to_owned(), json!(micros));
        }
    }
    let bytes = read(response).await?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| ApiError::internal())?;
    let (text, structured) = answer::of(&shown, value);
    let mut content = vec![ContentBlock::text(text)];
    if shown == answer::Shown::Made {
        content.extend(first_made(service, caller, &structured).await);
    }
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(structured);
    result.meta = Some(meta);
    Ok(result)
}

/// What is asked of the service, and how its answer is shown.
fn question(
    service: &Service,
    caller: &Caller,
    what: What,
    said: &mut Arguments<'_>,
) -> Result<(Ask, answer::Shown), ApiError> {
    Ok(match what {
        What::Capabilities => (Ask::Capabilities, answer::Shown::AsItIs),
        What::Account => (Ask::Me, answer::Shown::AsItIs),
        What::Models => {
            let contains = said.text("contains")?.unwrap_or_default();
            let limit = said.number("limit", 1, MAX_MODELS)?.unwrap_or(MODELS);
            (Ask::Models, answer::Shown::Models { contains, limit })
        }
        What::Ask => {
            let prompt = said.required("prompt")?;
            let model = match said.text("model")? {
                Some(model) => model,
                None => any_model(service, caller)?,
            };
            let mut messages = Vec::new();
            if let Some(system) = said.text("system")? {
                messages.push(json!({"role": "system", "content": system}));
            }
            messages.push(json!({"role": "user", "content": prompt}));
            let mut body = json!({"model": model, "messages": messages});
            for name in ["max_tokens", "temperature"] {
                if let (Some(value), Some(body)) = (said.take(name), body.as_object_mut()) {
                    body.insert(name.to_owned(), value);
                }
            }
            (Ask::Chat(body.to_string().into()), answer::Shown::Answer)
        }
        What::Search => (Ask::Search(said.all()), answer::Shown::Results),
        What::Fetch => {
            let has_links = said.flag("links")?;
            let chars = said.number("max_chars", 1, MAX_CHARS)?.unwrap_or(PAGE_CHARS);
            said.rest.insert("max_chars".to_owned(), json!(chars));
            (Ask::Fetch(said.all()), answer::Shown::Page { has_links })
        }
        What::Media => {
            let model = said.required("model")?;
            let mut input = match said.take("options") {
                None => JsonObject::new(),
                Some(Value::Object(options)) => options,
                Some(_) => return Err(wrong("options", "an object")),
            };
            for name in ["prompt", "text"] {
                input.extend(said.text(name)?.map(|text| (name.to_owned(), json!(text))));
            }
            let body = json!({"model": model, "input": input});
            (Ask::Media(body.to_string().into()), answer::Shown::Made)
        }
        What::StartResearch => (Ask::StartResearch(said.all()), answer::Shown::Job),
        What::Research => {
            let id = said.required("id")?;
            let wait = said.number("wait_s", 0, MAX_WAIT)?.unwrap_or(0);
            (Ask::Research(id, wait), answer::Shown::Job)
        }
    })
}

/// The first file that was made, where it is small enough for a message.
async fn first_made(service: &Service, caller: &Caller, run: &Value) -> Option<ContentBlock> {
    let artifact = &run["artifacts"][0];
    if artifact["bytes"].as_u64()? > MAX_INLINE_BYTES {
        return None;
    }
    let found = inside::artifact(service, caller.key.member, artifact["id"].as_str()?).await;
    let bytes = read(found.ok()?).await.ok()?;
    let (data, media_type) = (BASE64.encode(bytes), artifact["media_type"].as_str()?);
    match media_type.split_once('/')?.0 {
        "image" => Some(ContentBlock::image(data, media_type)),
        "audio" => Some(ContentBlock::audio(data, media_type)),
        _ => None,
    }
}

/// A model for those who name none: the first that can be used now.
fn any_model(service: &Service, caller: &Caller) -> Result<String, ApiError> {
    service.chat_model(caller, None).map(|model| model.id.to_string()).ok_or_else(|| {
        let message = "no model that this key may use can be asked at the moment";
        ApiError::new(Code::CapabilityUnavailable, message)
    })
}

/// The arguments of a call that were not taken yet.
struct Arguments<'a> {
    tool: &'a Known,
    rest: JsonObject,
}

impl Arguments<'_> {
    fn take(&mut self, name: &str) -> Option<Value> {
        // Many models write what they leave out as null.
        self.rest.remove(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(name, "a string")),
        }
    }

    fn required(&mut self, name: &str) -> Result<String, ApiError> {
        let text = self.text(name)?;
        text.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
            ApiError::of_param(Code::InvalidRequest, name, format!("`{name}` is missing or empty"))
        })
    }

    fn number(&mut self, name: &str, min: u32, max: u32) -> Result<Option<u32>, ApiError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = serde_json::from_value::<Whole>(value).ok().map(|Whole(number)| number);
        match number.filter(|number| (min..=max).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(wrong(name, &format!("a whole number from {min} to {max}"))),
        }
    }

    fn flag(&mut self, name: &str) -> Result<bool, ApiError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(wrong(name, "true or false")),
        }
    }

    /// Everything that is left, as a body; the path knows what to make of it.
    fn all(&mut self) -> Bytes {
        let mut rest = std::mem::take(&mut self.rest);
        rest.retain(|_, value| !value.is_null());
        Value::Object(rest).to_string().into()
    }

    /// Refuses what nobody took.
    fn finish(&self) -> Result<(), ApiError> {
        let Some(name) = self.rest.keys().next() else { return Ok(()) };
        let shown: String = name.chars().take(64).collect();
        let message = format!("`{}` takes no `{shown}`", self.tool.name);
        Err(ApiError::of_param(Code::InvalidRequest, shown, message))
    }
}

fn wrong(name: &str, wanted: &str) -> ApiError {
    ApiError::of_param(Code::InvalidRequest, name, format!("`{name}` must be {wanted}"))
}

/// What was charged, or what is held, as the answer says.
fn micros(response: &Response, header: &HeaderName) -> Option<i64> {
    response.headers().get(header)?.to_str().ok()?.parse().ok()
}

async fn read(response: Response) -> Result<Bytes, ApiError> {
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES);
    let read = body.collect().await.map_err(|_| {
        ApiError::new(Code::UpstreamUnavailable, "the answer is too long to be told")
    })?;
    Ok(read.to_bytes())
}

/// A failure as a model can make sense of it.
fn failed(arrival: Option<&Arrival>, error: &ApiError) -> CallToolResult {
    let code = error.code();
    let mut text = format!("{} ({}, {})", error.message(), code.word(), code.status());
    let detail = error.body().error;
    if let (Some(needed), Some(available)) = (detail.needed_micros, detail.available_micros) {
        text.push_str(&format!(": {needed} micro-credits are needed, {available} are there"));
    }
    let mut meta = MetaObject::default();
    meta.insert(STATUS.to_owned(), json!(code.status()));
    meta.insert(CODE.to_owned(), json!(code.word()));
    if let Some(arrival) = arrival {
        meta.insert(REQUEST_ID.to_owned(), json!(arrival.id.to_string()));
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.meta = Some(meta);
    result
}
