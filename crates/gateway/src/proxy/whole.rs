//! Answers without a stream.

use std::sync::Arc;

use api_dialects::{anthropic, responses};
use bytes::Bytes;
use ledger::TokenCounts;
use serde_json::Value;

use super::chat::{Chunk, renamed, token_counts};
use super::native::{self, Ours};
use crate::provider::Failure;
use crate::raw_object::RawObject;

#[derive(Debug, Clone)]
pub(crate) enum WholeReader {
    /// A chat completion, passed on with its model renamed.
    Chat {
        model: Option<Arc<str>>,
    },
    /// A message, translated to a chat completion.
    Messages {
        id: String,
        created: u64,
        model: Option<Arc<str>>,
    },
    Native(Ours),
    /// A message of an upstream with the messages interface, passed on with its model renamed.
    NativeMessage {
        model: Arc<str>,
    },
    /// An object with content in one field, passed on with its model renamed.
    Plain {
        model: Arc<str>,
        content: &'static str,
    },
    Compaction(Box<CompactionReader>),
}

/// The translation of a chat completion to a compacted conversation.
#[derive(Debug, Clone)]
pub(crate) struct CompactionReader {
    pub(crate) from: WholeReader,
    pub(crate) input: Vec<Value>,
    pub(crate) id: String,
    pub(crate) created: u64,
}

#[derive(Debug)]
pub(crate) struct WholeAnswer {
    pub(crate) body: Bytes,
    pub(crate) tokens: TokenCounts,
    /// An empty answer is free.
    pub(crate) has_content: bool,
    pub(crate) response: Option<Value>,
}

impl WholeReader {
    pub(crate) fn read(&self, body: Bytes) -> Result<WholeAnswer, Failure> {
        match self {
            Self::Chat { model } => read_chat(body, model.as_deref()),
            Self::Messages { id, created, model } => {
                let message: Value = serde_json::from_slice(&body).map_err(|_| not_json())?;
                let chat = anthropic::answer(&message, id, *created)
                    .map_err(|_| Failure::Malformed("invalid response"))?;
                read_chat(chat.to_string().into(), model.as_deref())
            }
            Self::Native(ours) => read_response(&body, ours),
            Self::NativeMessage { model } => read_message(body, model),
            Self::Plain { model, content } => read_plain(&body, model, content),
            Self::Compaction(reader) => {
                let CompactionReader { from, input, id, created } = &**reader;
                let chat = from.read(body)?;
                let completion: Value =
                    serde_json::from_slice(&chat.body).map_err(|_| not_json())?;
                let answer = responses::compaction(&completion, input, id, *created)
                    .map_err(|_| Failure::Malformed("the response has no summary"))?;
                Ok(WholeAnswer { body: answer.to_string().into(), ..chat })
            }
        }
    }
}

/// A new id of an item, for a prefix such as `msg`.
pub(crate) fn new_id(prefix: &str) -> String {
    format!("{prefix}_{:032x}", fastrand::u128(..))
}

fn read_response(body: &[u8], ours: &Ours) -> Result<WholeAnswer, Failure> {
    let response: Value = serde_json::from_slice(body).map_err(|_| not_json())?;
    let status = response.get("status").and_then(Value::as_str).unwrap_or("completed");
    let output = response.get("output").and_then(Value::as_array);
    let (Some(output), "completed" | "incomplete") = (output, status) else {
        return Err(Failure::Malformed("the response did not complete"));
    };
    let has_content = !output.is_empty();
    let tokens = native::tokens(&response);
    let response = native::patched(response, ours);
    Ok(WholeAnswer {
        body: response.to_string().into(),
        tokens,
        has_content,
        response: Some(response),
    })
}

fn read_chat(body: Bytes, model: Option<&str>) -> Result<WholeAnswer, Failure> {
    let chunk: Chunk<'_> = serde_json::from_slice(&body).map_err(|_| not_json())?;
    let Some(choices) = chunk.choices.filter(|_| chunk.error.is_none()) else {
        return Err(Failure::Malformed("the response has no choices"));
    };
    let has_content = choices.iter().any(super::chat::Choice::has_content);
    let tokens = chunk.usage.map(|usage| usage.tokens()).unwrap_or_default();
    let named = chunk.model.zip(model);
    let named = named.and_then(|(found, model)| renamed(&body, found, model));
    let body = named.map_or(body, Bytes::from);
    Ok(WholeAnswer { body, tokens, has_content, response: None })
}

fn read_plain(body: &Bytes, model: &str, content: &str) -> Result<WholeAnswer, Failure> {
    let object = RawObject::parse(body).map_err(|_| not_json())?;
    if object.raw("error").is_some_and(|error| error != "null") {
        return Err(Failure::Malformed("the response is an error"));
    }
    let found =
        object.raw(content).filter(|found| !matches!(*found, "null" | "\"\"" | "[]" | "{}"));
    let usage: Value =
        serde_json::from_str(object.raw("usage").unwrap_or("null")).unwrap_or_default();
    let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(name)?.as_i64());
    let tokens = TokenCounts {
        input: count(["prompt_tokens", "input_tokens"]),
        output: count(["completion_tokens", "output_tokens"]),
    };
    let is_named = object.raw("model").is_some();
    let renamed = is_named.then(|| object.rewrite(&[("model", Some(model))]).into());
    let (body, has_content) = (renamed.unwrap_or_else(|| body.clone()), found.is_some());
    Ok(WholeAnswer { body, tokens, has_content, response: None })
}

fn read_message(body: Bytes, model: &str) -> Result<WholeAnswer, Failure> {
    let mut reader = anthropic::UsageReader::default();
    let found = reader.read(&body);
    let found = found.map_err(|_| Failure::Malformed("invalid response"))?;
    let named = found.and_then(|found| renamed(&body, found, model));
    let (tokens, has_content) = (token_counts(reader.usage()), reader.has_content());
    Ok(WholeAnswer { body: named.map_or(body, Bytes::from), tokens, has_content, response: None })
}

fn not_json() -> Failure {
    Failure::Malformed("the response is not valid JSON")
}

#[cfg(test)]
mod tests;
