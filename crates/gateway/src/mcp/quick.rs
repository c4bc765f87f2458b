//! Calls of tools that are answered at once and want nothing of the protocol besides: most of them.
//!
//! They need no task, no channel and no stream. Whatever is asked otherwise, and all that is wrong,
//! is not for here but for rmcp: nothing is refused here.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{CallToolResult, ErrorData, JsonObject, ProtocolVersion, RequestMetaObject};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::call;
use super::running::Begun;
use super::server::called_off;
use super::tools::{self, Known};
use crate::service::Service;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const METHOD: &str = "tools/call";
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static NAMED_METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAMED_TOOL: HeaderName = HeaderName::from_static("mcp-name");

/// A message with nothing in it that is not understood here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    name: &'a str,
    #[serde(default)]
    arguments: Option<JsonObject>,
    #[serde(default, rename = "_meta")]
    meta: Option<JsonObject>,
}

/// Whether the client is of the stateless revision, or of one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Before,
    Stateless,
}

/// A call that can be answered at once.
pub(super) struct Quick<'a> {
    id: &'a RawValue,
    tool: &'static Known,
    arguments: JsonObject,
    era: Era,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a CallToolResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorData>,
}

impl<'a> Quick<'a> {
    /// The call that a request is, if it is one for here.
    pub(super) fn read(headers: &HeaderMap, body: &'a [u8]) -> Option<Self> {
        let is_json = text(headers, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with(JSON));
        let accepts = text(headers, &ACCEPT)
            .is_some_and(|accept| accept.contains(JSON) && accept.contains(EVENTS));
        if !is_json || !accepts {
            return None;
        }
        let message: Message<'a> = serde_json::from_slice(body).ok()?;
        let Message { jsonrpc, id, method, params } = message;
        let is_id = id.get().starts_with('"') || id.get().parse::<i64>().is_ok();
        if jsonrpc != "2.0" || method != METHOD || !is_id {
            return None;
        }
        let tool = tools::find(params.name).filter(|tool| !tools::is_slow(tool.name))?;
        let era = era(headers, params.name, params.meta.map(RequestMetaObject::from))?;
        Some(Self { id, tool, arguments: params.arguments.unwrap_or_default(), era })
    }

    /// Calls the tool. Whoever leaves drops the call.
    pub(super) async fn answer(
        self,
        service: &Arc<Service>,
        head: &Parts,
        begun: Option<&Begun>,
    ) -> Response {
        let Self { id, tool, arguments, era } = self;
        let work = Box::pin(call::run(service, head, tool, arguments));
        let result = tokio::select! {
            result = work => Ok(result),
            error = called_off(begun) => Err(error),
        };
        let result = result.map(|mut result| {
            if era == Era::Before {
                result.result_type = None;
            }
            result
        });
        let (result, error) = (result.as_ref().ok(), result.as_ref().err());
        let answer = Answer { jsonrpc: "2.0", id, result, error };
        let mut response =
            Response::new(Body::from(serde_json::to_vec(&answer).unwrap_or_default()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        response
    }
}

/// The era of a call that says all that its era asks for, and wants no signs of life.
fn era(headers: &HeaderMap, tool: &str, meta: Option<RequestMetaObject>) -> Option<Era> {
    const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;
    let meta = meta.unwrap_or_default();
    if meta.get_progress_token().is_some() {
        return None;
    }
    let told = match headers.get(&VERSION) {
        None => None,
        Some(_) => Some(text(headers, &VERSION)?),
    };
    match (told, meta.protocol_version()) {
        (Some(told), Some(version)) if told == STATELESS.as_str() && version == STATELESS => {
            let is_whole = meta.missing_required_keys(&STATELESS).is_empty();
            let is_named = text(headers, &NAMED_METHOD) == Some(METHOD)
                && text(headers, &NAMED_TOOL) == Some(tool);
            (is_whole && is_named).then_some(Era::Stateless)
        }
        (None, None) => Some(Era::Before),
        (Some(told), None) => {
            let mut known = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str);
            (told < STATELESS.as_str() && known.any(|known| known == told)).then_some(Era::Before)
        }
        _ => None,
    }
}

/// The text of a header that stands there once.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then(|| first.to_str().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [(&str, &str); 3] = [
        ("content-type", "application/json; charset=utf-8"),
        ("accept", "text/event-stream, application/json"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    const NEW: [(&str, &str); 5] = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "account"),
    ];
    const ABOUT: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},
        "io.modelcontextprotocol/clientCapabilities":{}}"#;

    fn era_of(headers: &[(&'static str, &str)], body: &str) -> Option<Era> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(*name, value.parse().unwrap());
        }
        Quick::read(&all, body.as_bytes()).map(|quick| quick.era)
    }

    fn call(params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{params}}}}}"#)
    }

    #[test]
    fn a_plain_call_of_either_era_is_for_here() {
        let old = call(r#""name":"account""#);
        assert_eq!(era_of(&OLD, &old), Some(Era::Before));
        assert_eq!(era_of(&OLD[..2], &old), Some(Era::Before));
        let with_more = call(r#""name":"list_models","arguments":{"limit":3},"_meta":{"x/y":1}"#);
        assert_eq!(era_of(&OLD, &with_more), Some(Era::Before));
        let id = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"account"}}"#;
        assert_eq!(era_of(&OLD, id), Some(Era::Before));
        let new = call(&format!(r#""name":"account",{ABOUT}"#));
        assert_eq!(era_of(&NEW, &new), Some(Era::Stateless));
    }

    #[test]
    fn what_asks_for_more_or_is_wrong_is_not() {
        let old = call(r#""name":"account""#);
        for headers in [
            &OLD[1..],
            &[OLD[0], OLD[2]],
            &[OLD[0], OLD[1], ("mcp-protocol-version", "2024-01-01")],
            &[OLD[0], OLD[1], ("mcp-protocol-version", "2026-07-28")],
            &[OLD[0], OLD[1], OLD[2], OLD[2]],
            &[OLD[0], ("accept", "application/json")],
        ] {
            assert_eq!(era_of(headers, &old), None, "{headers:?}");
        }
        for body in [
            call(r#""name":"web_fetch","arguments":{"url":"http://a.example"}"#),
            call(r#""name":"nothing""#),
            call(r#""name":"account","arguments":[]"#),
            call(r#""name":"account","requestState":"x""#),
            call(r#""name":"account","_meta":{"progressToken":1}"#),
            call(&format!(r#""name":"account",{ABOUT}"#)),
            call(r#""name":"account","name":"account""#),
            old.replace("2.0", "1.0"),
            old.replace("tools/call", "tools/list"),
            old.replace(r#""id":1,"#, ""),
            old.replace(r#""id":1"#, r#""id":null"#),
            old.replace(r#""id":1"#, r#""id":1.5"#),
            format!("[{old}]"),
            "{".to_owned(),
        ] {
            assert_eq!(era_of(&OLD, &body), None, "{body}");
        }
    }

    #[test]
    fn the_stateless_era_says_everything_twice() {
        let new = call(&format!(r#""name":"account",{ABOUT}"#));
        for left_out in &NEW[2..] {
            let headers: Vec<_> = NEW.into_iter().filter(|header| header != left_out).collect();
            assert_eq!(era_of(&headers, &new), None, "without {}", left_out.0);
        }
        let other = [NEW[0], NEW[1], NEW[2], NEW[3], ("mcp-name", "list_models")];
        assert_eq!(era_of(&other, &new), None);
        let bare = new.replace("clientCapabilities\":{}", "other\":{}");
        assert_eq!(era_of(&NEW, &bare), None);
    }
}
