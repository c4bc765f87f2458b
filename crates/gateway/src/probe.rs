//! Checks a provider once, without a running service: reachability and API key.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::config::{self, Kind};
use crate::problem::Problem;
use crate::provider::{CHAT_PATH, List, MESSAGES_PATH, Owner, Provider, Sender, espeak};

const MAX_BYTES: usize = 4 * 1024 * 1024;
const MAX_TOKENS: u32 = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub status: u16,
    /// The ids of its models, or the text of its answer, if any.
    pub found: Option<Vec<String>>,
    /// Its sanitized error message.
    pub message: Option<String>,
    pub took: Duration,
}

impl Probe {
    /// A probe that was answered without HTTP.
    fn found(found: Option<Vec<String>>, begun: Instant) -> Self {
        Self { status: 200, found, message: None, took: begun.elapsed() }
    }
}

/// Asks a provider for its models, like a health probe.
pub async fn models(provider: &config::Provider) -> Result<Probe, Problem> {
    if let Some(program) = &provider.program {
        return voices(provider, program).await;
    }
    if provider.local.is_some() {
        let begun = Instant::now();
        return Ok(Probe::found(Some(probe_local(provider).await?.1), begun));
    }
    let policy = provider.health.clone().unwrap_or_default();
    let (mut probe, body) = ask(provider, &policy.path, None, policy.timeout).await?;
    let list = serde_json::from_slice::<List>(&body).ok();
    let ids = list.map(|list| list.data.into_iter().map(|listed| listed.id));
    probe.found = ids.map(|ids| ids.take(config::MAX_MODELS).collect());
    Ok(probe)
}

async fn voices(provider: &config::Provider, program: &Path) -> Result<Probe, Problem> {
    let begun = Instant::now();
    let voices = espeak::voices(program).await.map_err(|why| {
        Problem::new(format!("cannot use the provider `{}`: {why}", provider.name))
            .hint("install espeak-ng, or set `program`")
    })?;
    Ok(Probe::found(Some(voices.into_iter().map(|voice| voice.id).collect()), begun))
}

/// A provider of local models with the ids of its models; an error if a file is invalid.
async fn probe_local(configured: &config::Provider) -> Result<(Provider, Vec<String>), Problem> {
    let provider = Provider::open(configured, MAX_BYTES)?;
    let Some(local) = &provider.local else {
        return Err(Problem::new(format!("`{}` has no files", configured.name)));
    };
    let named = configured.models.iter().map(|model| model.id.clone());
    let found = local.scan().await.changed.unwrap_or_default();
    let ids = named.chain(found.into_iter().map(|model| model.id)).collect();
    if let Some(trouble) = local.problem() {
        let message = format!("cannot use the provider `{}`: {trouble}", configured.name);
        return Err(Problem::new(message));
    }
    Ok((provider, ids))
}

async fn chat_here(configured: &config::Provider, body: &Value) -> Result<Probe, Problem> {
    let provider = probe_local(configured).await?.0;
    let begun = Instant::now();
    let sender = Sender { owner: Owner::Operator, span: None };
    let answer = async {
        let sent = provider.send(CHAT_PATH, body.to_string().into(), None, sender).await;
        sent?.read(MAX_BYTES).await
    };
    let answer = answer.await.map_err(|failure| {
        let cause = failure.cause().unwrap_or(failure.as_str()).to_owned();
        Problem::new(format!("the provider `{}` does not respond: {cause}", configured.name))
    })?;
    Ok(Probe::found(text(&answer).map(|text| vec![text]), begun))
}

fn text(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let text =
        body.pointer("/choices/0/message/content").or_else(|| body.pointer("/content/0/text"));
    text.and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Requests a very short answer from a model, which the provider may charge.
pub async fn chat(provider: &config::Provider, model: &str) -> Result<Probe, Problem> {
    let messages = json!([{ "role": "user", "content": "Answer with the one word OK." }]);
    let mut body = json!({ "model": model, "messages": messages });
    if provider.kind != Kind::OpenAi {
        body["max_tokens"] = MAX_TOKENS.into();
    }
    let path = match provider.kind {
        Kind::OpenAi => CHAT_PATH,
        Kind::Anthropic => MESSAGES_PATH,
        Kind::Local => return chat_here(provider, &body).await,
        Kind::Espeak => {
            let message = format!("`{}` supports speech only, not chat", provider.name);
            return Err(Problem::new(message));
        }
    };
    let (mut probe, body) = ask(provider, path, Some(&body), provider.timeouts.first_byte).await?;
    probe.found = text(&body).map(|text| vec![text]);
    Ok(probe)
}

/// Whether espeak-ng is installed.
pub async fn can_speak() -> bool {
    espeak::voices(Path::new("espeak-ng")).await.is_ok()
}

async fn ask(
    configured: &config::Provider,
    path: &str,
    body: Option<&Value>,
    limit: Duration,
) -> Result<(Probe, Bytes), Problem> {
    let provider = Provider::open(configured, MAX_BYTES)?;
    let begun = Instant::now();
    let answer = provider.ask(path, body.map(Value::to_string), limit).await;
    let (status, body) = answer.map_err(|why| {
        Problem::new(format!("the provider `{}` does not respond: {why}", configured.name))
    })?;
    let message = (!status.is_success()).then(|| provider.cleaner.message(&body)).flatten();
    let took = begun.elapsed();
    Ok((Probe { status: status.as_u16(), found: None, message, took }, body))
}
