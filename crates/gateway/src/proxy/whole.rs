//! Answers in one piece.

use std::sync::Arc;

use bytes::Bytes;
use ledger::TokenCounts;
use serde_json::Value;

use super::chat::{Chunk, renamed};
use super::native::{self, Ours};
use crate::provider::Failure;
use crate::translate::{anthropic, responses};

/// How an answer in one piece is understood.
#[derive(Debug, Clone)]
pub(crate) enum Whole {
    /// A chat completion, passed on as it is but for the name of its model.
    Chat { model: Option<Arc<str>> },
    /// A message, translated to a chat completion.
    Messages { id: String, created: u64, model: Option<Arc<str>> },
    /// A response of an upstream that speaks the interface.
    Native(Ours),
    /// A chat completion or message, translated to a response.
    Bridged { from: Box<Whole>, shape: Box<responses::Shape> },
}

/// An answer in one piece that was understood.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) body: Bytes,
    pub(crate) tokens: TokenCounts,
    /// Whether anything was said; an empty answer is free.
    pub(crate) has_content: bool,
    /// The response object, of an answer of the responses interface.
    pub(crate) response: Option<Value>,
}

impl Whole {
    pub(crate) fn read(&self, body: Bytes) -> Result<Piece, Failure> {
        match self {
            Self::Chat { model } => read_chat(body, model.as_deref()),
            Self::Messages { id, created, model } => {
                let message: Value = serde_json::from_slice(&body).map_err(|_| not_json())?;
                let chat = anthropic::answer(&message, id, *created)
                    .map_err(|_| Failure::Malformed("its answer is not as documented"))?;
                read_chat(chat.to_string().into(), model.as_deref())
            }
            Self::Native(ours) => read_response(&body, ours),
            Self::Bridged { from, shape } => {
                let chat = from.read(body)?;
                let completion: Value =
                    serde_json::from_slice(&chat.body).map_err(|_| not_json())?;
                let response = responses::answer(&completion, shape, new_id)
                    .map_err(|_| Failure::Malformed("its answer is not as documented"))?;
                let body = response.to_string().into();
                Ok(Piece { body, response: Some(response), ..chat })
            }
        }
    }
}

/// A new id of an item, for a prefix such as `msg`.
pub(crate) fn new_id(prefix: &str) -> String {
    format!("{prefix}_{:032x}", fastrand::u128(..))
}

/// Looks at a response object.
fn read_response(body: &[u8], ours: &Ours) -> Result<Piece, Failure> {
    let response: Value = serde_json::from_slice(body).map_err(|_| not_json())?;
    let status = response.get("status").and_then(Value::as_str).unwrap_or("completed");
    let output = response.get("output").and_then(Value::as_array);
    let (Some(output), "completed" | "incomplete") = (output, status) else {
        return Err(Failure::Malformed("its response did not complete"));
    };
    let has_content = !output.is_empty();
    let tokens = native::tokens(&response);
    let response = native::patched(response, ours);
    Ok(Piece { body: response.to_string().into(), tokens, has_content, response: Some(response) })
}

/// Looks at a chat completion, and puts in the name of its model.
fn read_chat(body: Bytes, model: Option<&str>) -> Result<Piece, Failure> {
    let chunk: Chunk<'_> = serde_json::from_slice(&body).map_err(|_| not_json())?;
    let Some(choices) = chunk.choices.filter(|_| chunk.error.is_none()) else {
        return Err(Failure::Malformed("its answer has no choices"));
    };
    let has_content = choices.iter().any(super::chat::Choice::says_something);
    let tokens = chunk.usage.map(|usage| usage.tokens()).unwrap_or_default();
    let named = chunk.model.zip(model);
    let named = named.and_then(|(found, model)| renamed(&body, found, model));
    let body = named.map_or(body, Bytes::from);
    Ok(Piece { body, tokens, has_content, response: None })
}

fn not_json() -> Failure {
    Failure::Malformed("its answer is not JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(body: &'static str) -> Result<Piece, Failure> {
        Whole::Chat { model: Some("\"up/good\"".into()) }.read(Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn an_answer_passes_as_it_is() {
        let body = r#"{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":2,"completion_tokens":1},"x":1.0}"#;
        let piece = chat(body).unwrap();
        assert_eq!(piece.body, body);
        assert!(piece.has_content);
        assert_eq!(piece.tokens, TokenCounts { input: Some(2), output: Some(1) });
    }

    #[test]
    fn an_answer_names_the_model_that_was_asked_for() {
        let body = r#"{"model": "good","choices":[{"message":{"content":"\"model\":"}}]}"#;
        assert_eq!(chat(body).unwrap().body, body.replace("\"good\"", "\"up/good\""));
    }

    #[test]
    fn an_empty_answer_is_noticed() {
        assert!(!chat(r#"{"choices":[{"message":{"content":""}}]}"#).unwrap().has_content);
        assert!(!chat(r#"{"choices":[{"message":{"content":null}}]}"#).unwrap().has_content);
        assert!(!chat(r#"{"choices":[]}"#).unwrap().has_content);
        let call = r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a"}]}}]}"#;
        assert!(chat(call).unwrap().has_content);
    }

    #[test]
    fn what_is_no_answer_is_a_failure() {
        for body in ["", "<html>", r#"{"error":{"message":"x"}}"#, r#"{"choices":null}"#, "[]"] {
            assert!(matches!(chat(body), Err(Failure::Malformed(_))), "{body}");
        }
    }
}
