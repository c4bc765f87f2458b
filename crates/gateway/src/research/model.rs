//! Asks a chat model of the service, for a job that is paid for as a whole.

use std::sync::Arc;

use ledger::MemberId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::error::Code;

use super::engine::Fault;
use crate::catalogue::Model;
use crate::charge::Progress;
use crate::clock;
use crate::failure::ApiError;
use crate::provider::Owner;
use crate::proxy::ask::Ask;
use crate::proxy::begin::{Answering, Begun, Context, begin};
use crate::service::Service;

/// How many bytes of English a token is, about.
const BYTES_A_TOKEN: usize = 4;
/// How much of a page a model is shown whose window is not known, in bytes.
const USUAL_BYTES: usize = 24 * 1024;
/// The most, however wide its window is.
const MAX_BYTES: usize = 96 * 1024;
/// The least.
const MIN_BYTES: usize = 2 * 1024;

/// What a model counted, or what we think it would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Spent {
    pub(super) input: i64,
    pub(super) output: i64,
}

/// What a model said.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) spent: Spent,
}

/// How much a model is shown at once, in bytes: half of its window, less what is said around it.
pub(super) fn window(service: &Service, model: &str) -> usize {
    let catalogue = service.catalogue.load();
    let tokens = catalogue.model(model).and_then(|model| model.context_length);
    let Some(tokens) = tokens.and_then(|tokens| usize::try_from(tokens).ok()) else {
        return USUAL_BYTES;
    };
    (tokens / 2).saturating_mul(BYTES_A_TOKEN).clamp(MIN_BYTES, MAX_BYTES)
}

/// Asks. A model that refuses has said nothing; one that cannot be reached is asked another time.
pub(super) async fn ask(
    service: &Arc<Service>,
    (model, member): (&str, MemberId),
    prompt: String,
) -> Result<Said, Fault> {
    let known: Option<Arc<Model>> = service.catalogue.load().model(model).cloned();
    let Some(known) = known else {
        return Err(Fault::later(format!("the model `{model}` is not there at the moment")));
    };
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": prompt }] });
    let ask = Ask {
        id: clock::new_hold_id(),
        body: body.to_string().into(),
        rest: None,
        is_streamed: false,
        wants_usage: true,
        model: None,
        max_tokens: None,
    };
    let context = Context {
        service: service.clone(),
        model: known,
        owner: Owner::Member(member),
        progress: Progress::default(),
        traced: None,
    };
    let piece = match begin(context, |target| ask.chat(target)).await {
        Ok(Begun { answer: Answering::Whole(piece), .. }) => piece,
        Ok(_) => return Err(Fault::later("the model did not answer in one piece")),
        Err(error) if is_refusal(&error) => {
            tracing::warn!(model, error = error.message(), "a model refused a step of research");
            return Ok(Said::default());
        }
        Err(error) => return Err(Fault::later(error.message())),
    };
    let text = text_of(&piece.body);
    let tokens = |bytes: usize| i64::try_from(bytes / BYTES_A_TOKEN).unwrap_or(i64::MAX);
    let spent = Spent {
        input: piece.tokens.input.unwrap_or_else(|| tokens(prompt.len())),
        output: piece.tokens.output.unwrap_or_else(|| tokens(text.len())),
    };
    Ok(Said { text, spent })
}

fn is_refusal(error: &ApiError) -> bool {
    matches!(error.code(), Code::InvalidRequest | Code::ContextLengthExceeded)
}

/// The text of a chat completion.
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
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_answer_is_found_in_either_form() {
        let text = |content: &str| {
            text_of(format!(r#"{{"choices":[{{"message":{{"content":{content}}}}}]}}"#).as_bytes())
        };
        assert_eq!(text(r#""hi""#), "hi");
        assert_eq!(text(r#"[{"type":"text","text":"h"},{"text":"i"},{"image":1}]"#), "hi");
        assert_eq!((text("null"), text_of(b"{}"), text_of(b"{")), Default::default());
    }
}
