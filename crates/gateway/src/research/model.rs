//! Asks a chat model for a step of a job; the job pays for all of its steps.

use std::sync::Arc;

use ledger::MemberId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::error::Code;

use super::Fault;
use crate::billing::Progress;
use crate::catalogue::Model;
use crate::clock;
use crate::failure::ApiError;
use crate::provider::Owner;
use crate::proxy::begin::{Begun, BegunAnswer, Context, begin};
use crate::proxy::chat_request::ChatRequest;
use crate::upstreams::Upstreams;

/// The approximate size of a token of English text.
const BYTES_PER_TOKEN: usize = 4;
/// Prompt size for a model with an unknown window, and the bounds for all others.
const DEFAULT_BYTES: usize = 24 * 1024;
const MAX_BYTES: usize = 96 * 1024;
const MIN_BYTES: usize = 2 * 1024;

/// Token counts of the model, or an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct TokenUse {
    pub(super) input: i64,
    pub(super) output: i64,
}

#[derive(Debug, Default)]
pub(super) struct ModelAnswer {
    pub(super) text: String,
    pub(super) spent: TokenUse,
}

/// The size of a prompt for a model, in bytes: about half of its window.
pub(super) fn window(upstreams: &Upstreams, model: &str) -> usize {
    let catalogue = upstreams.catalogue.load();
    let tokens = catalogue.model(model).and_then(|model| model.context_length);
    let Some(tokens) = tokens.and_then(|tokens| usize::try_from(tokens).ok()) else {
        return DEFAULT_BYTES;
    };
    (tokens / 2).saturating_mul(BYTES_PER_TOKEN).clamp(MIN_BYTES, MAX_BYTES)
}

/// Asks a model. The answer of a model that refuses is empty.
pub(super) async fn ask(
    upstreams: &Arc<Upstreams>,
    model: &str,
    member: MemberId,
    prompt: String,
) -> Result<ModelAnswer, Fault> {
    let known: Option<Arc<Model>> = upstreams.catalogue.load().model(model).cloned();
    let Some(known) = known else {
        return Err(Fault::temporary(format!("the model `{model}` is currently unavailable")));
    };
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": prompt }] });
    let request = ChatRequest::new(clock::new_hold_id(), body.to_string().into());
    let context = Context {
        upstreams: upstreams.clone(),
        model: known,
        owner: Owner::Member(member),
        progress: Progress::default(),
        span: None,
    };
    let answer = match begin(context, |target| request.for_target(target)).await {
        Ok(Begun { answer: BegunAnswer::Whole(answer), .. }) => answer,
        Ok(_) => return Err(Fault::temporary("the model returned an unexpected stream")),
        Err(error) if is_refusal(&error) => {
            tracing::warn!(model, error = error.message(), "model refused a research step");
            return Ok(ModelAnswer::default());
        }
        Err(error) => return Err(Fault::temporary(error.message())),
    };
    let text = text_of(&answer.body);
    let tokens = |bytes: usize| i64::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(i64::MAX);
    let spent = TokenUse {
        input: answer.tokens.input.unwrap_or_else(|| tokens(prompt.len())),
        output: answer.tokens.output.unwrap_or_else(|| tokens(text.len())),
    };
    Ok(ModelAnswer { text, spent })
}

fn is_refusal(error: &ApiError) -> bool {
    matches!(error.code(), Code::InvalidRequest | Code::ContextLengthExceeded)
}

fn text_of(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let content = &body["choices"][0]["message"]["content"];
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

#[cfg(test)]
mod tests;
