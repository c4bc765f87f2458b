//! A provider asked once, outside of a running service: is it there, does it take our key.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::config::{self, Kind};
use crate::failure::chain;
use crate::problem::Problem;
use crate::provider::Provider;

/// The longest answer that is read.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The longest answer of a model, in tokens, where it must be said.
const MAX_TOKENS: u32 = 16;

/// What a provider answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The status of its answer.
    pub status: u16,
    /// The ids of its models, or the text of its answer; `None` if it gave none.
    pub found: Option<Vec<String>>,
    /// What it said about a failure, fit to be shown.
    pub message: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// Asks a provider for its models, the way a probe of its health does.
pub async fn models(provider: &config::Provider) -> Result<Probe, Problem> {
    let policy = provider.health.clone().unwrap_or_default();
    let (mut probe, body) = ask(provider, &policy.path, None, policy.timeout).await?;
    let list = serde_json::from_slice::<List>(&body).ok();
    let ids = list.map(|list| list.data.into_iter().map(|listed| listed.id));
    probe.found = ids.map(|ids| ids.take(config::MAX_MODELS).collect());
    Ok(probe)
}

/// Asks a model of a provider for a very short answer. It costs what the provider asks for it.
pub async fn chat(provider: &config::Provider, model: &str) -> Result<Probe, Problem> {
    let messages = json!([{ "role": "user", "content": "Answer with the one word OK." }]);
    let (path, body) = match provider.kind {
        Kind::OpenAi => ("/chat/completions", json!({ "model": model, "messages": messages })),
        Kind::Anthropic => {
            ("/messages", json!({ "model": model, "messages": messages, "max_tokens": MAX_TOKENS }))
        }
    };
    let (mut probe, body) = ask(provider, path, Some(&body), provider.timeouts.first_byte).await?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text =
        body.pointer("/choices/0/message/content").or_else(|| body.pointer("/content/0/text"));
    probe.found = text.and_then(Value::as_str).map(|text| vec![text.to_owned()]);
    Ok(probe)
}

async fn ask(
    configured: &config::Provider,
    path: &str,
    body: Option<&Value>,
    limit: Duration,
) -> Result<(Probe, Bytes), Problem> {
    let provider = Provider::open(configured, MAX_BYTES)?;
    let begun = Instant::now();
    let failed = |why: String| {
        Problem::new(format!("the provider `{}` does not answer: {why}", configured.name))
    };
    let text = body.map(Value::to_string).unwrap_or_default();
    let mut request = Request::new(Full::new(Bytes::from(text)));
    *request.uri_mut() =
        provider.base.join(path).ok_or_else(|| failed("its address makes no sense".to_owned()))?;
    *request.headers_mut() = provider.headers.clone();
    if body.is_some() {
        *request.method_mut() = Method::POST;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
    }
    let answer = async {
        let answer = provider.client.request(request).await.map_err(|error| chain(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
        Ok::<_, String>((status, body.map_err(|error| error.to_string())?.to_bytes()))
    };
    let late = |_| failed(format!("not within {} seconds", limit.as_secs_f64()));
    let (status, body) = timeout(limit, answer).await.map_err(late)?.map_err(failed)?;
    let message = (!status.is_success()).then(|| provider.cleaner.message(&body)).flatten();
    let took = begun.elapsed();
    Ok((Probe { status: status.as_u16(), found: None, message, took }, body))
}

#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}
