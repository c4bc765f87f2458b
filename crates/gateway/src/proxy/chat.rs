//! Inspection of chat completions on their way to the client.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use ledger::TokenCounts;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::sse::Event;

/// The data of the event that ends a stream.
const DONE: &[u8] = b"[DONE]";

/// Inspects a stream of chat completion chunks.
#[derive(Debug, Default)]
pub(crate) struct ChatWatch {
    /// Whether the client requested the usage; we always do.
    pub(crate) wants_usage: bool,
    /// The model name for the answer, as JSON; `None` keeps the upstream's name.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) tokens: TokenCounts,
    pub(crate) has_content: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChunkAction {
    Pass(Bytes),
    Skip,
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error event of the upstream, not yet sanitized.
    Told(Option<String>),
    Malformed(&'static str),
}

impl ChatWatch {
    pub(crate) fn look(&mut self, event: &Event) -> Result<ChunkAction, Fault> {
        let whole = event.data();
        let data = whole.trim_ascii();
        if data.is_empty() {
            return Ok(ChunkAction::Skip);
        }
        if data == DONE {
            return Ok(ChunkAction::Done);
        }
        let chunk: Chunk<'_> =
            serde_json::from_slice(data).map_err(|_| Fault::Malformed("an event is not JSON"))?;
        if let Some(error) = chunk.error {
            return Err(Fault::Told(message_of(error.get())));
        }
        let choices = chunk.choices.as_deref().unwrap_or_default();
        self.has_content |= choices.iter().any(Choice::has_content);
        if let Some(usage) = chunk.usage {
            self.tokens = usage.tokens();
            if choices.is_empty() && !self.wants_usage {
                return Ok(ChunkAction::Skip);
            }
        }
        let Some((found, model)) = chunk.model.zip(self.model.as_deref()) else {
            return Ok(ChunkAction::Pass(event.raw().clone()));
        };
        let is_one_line = matches!(whole, Cow::Borrowed(_));
        let text = if is_one_line { event.raw() } else { data };
        let piece = match renamed(text, found, model) {
            None => event.raw().clone(),
            Some(text) if is_one_line => text.into(),
            Some(data) => {
                let mut out = BytesMut::new();
                wire::sse::write_data(&mut out, &data);
                out.freeze()
            }
        };
        Ok(ChunkAction::Pass(piece))
    }
}

/// A copy of the text with `found`, which is a slice of it, replaced; `None` if nothing changes.
pub(crate) fn renamed(text: &[u8], found: &RawValue, value: &str) -> Option<Vec<u8>> {
    let found = found.get();
    if found == value {
        return None;
    }
    let start = found.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let (before, rest) = text.split_at_checked(start)?;
    let after = rest.get(found.len()..)?;
    let mut out = Vec::with_capacity(before.len() + value.len() + after.len());
    out.extend_from_slice(before);
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(after);
    Some(out)
}

/// The inspected fields of a chunk or of a whole completion.
#[derive(Debug, Deserialize)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Content<'a>>,
    #[serde(borrow, default)]
    message: Option<Content<'a>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// All fields in which a model can return content.
#[derive(Debug, Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    audio: Option<&'a RawValue>,
}

/// The token counts of an upstream; invalid values are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    prompt_tokens: Count,
    completion_tokens: Count,
}

/// A count of any JSON type.
#[derive(Debug, Default)]
struct Count(Option<i64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_i64().filter(|count| (0..=MAX_TOKENS).contains(count))))
    }
}

/// More than any model processes.
const MAX_TOKENS: i64 = 1_000_000_000;

impl Usage {
    pub(crate) fn tokens(&self) -> TokenCounts {
        TokenCounts { input: self.prompt_tokens.0, output: self.completion_tokens.0 }
    }
}

impl Choice<'_> {
    pub(crate) fn has_content(&self) -> bool {
        let is_something = |value: &RawValue| !matches!(value.get(), "\"\"" | "[]" | "{}");
        let is_present = |content: &Content<'_>| {
            [
                content.content,
                content.tool_calls,
                content.function_call,
                content.refusal,
                content.reasoning_content,
                content.reasoning,
                content.audio,
            ]
            .into_iter()
            .flatten()
            .any(is_something)
        };
        self.delta.as_ref().is_some_and(is_present)
            || self.message.as_ref().is_some_and(is_present)
            || self.text.is_some_and(is_something)
    }
}

/// The message of an error, if it has one.
pub(crate) fn message_of(error: &str) -> Option<String> {
    let error: serde_json::Value = serde_json::from_str(error).ok()?;
    let message = error.get("message").unwrap_or(&error).as_str()?;
    Some(message.to_owned())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use wire::sse::Splitter;

    use super::*;

    fn looks(
        wants_usage: bool,
        stream: &'static str,
    ) -> (ChatWatch, Vec<Result<ChunkAction, Fault>>) {
        let mut watch = ChatWatch { wants_usage, ..ChatWatch::default() };
        let mut splitter = Splitter::new(10_000);
        splitter.push(Bytes::from_static(stream.as_bytes()));
        let mut looks = Vec::new();
        while let Some(event) = splitter.next() {
            looks.push(watch.look(&event.unwrap()));
        }
        (watch, looks)
    }

    const STREAM: &str = concat!(
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"usage\":null}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n",
        "data: [DONE]\n\n",
    );

    #[test]
    fn the_usage_is_read_and_skipped_unless_asked_for() {
        let (watch, seen) = looks(false, STREAM);
        assert_eq!(watch.tokens, TokenCounts { input: Some(3), output: Some(1) });
        assert!(watch.has_content);
        let passed: Vec<Bytes> = STREAM
            .split_inclusive("\n\n")
            .map(|event| Bytes::from_static(event.as_bytes()))
            .collect();
        let pass = |number: usize| Ok(ChunkAction::Pass(passed[number].clone()));
        assert_eq!(seen, [pass(0), pass(1), Ok(ChunkAction::Skip), Ok(ChunkAction::Done)]);
        let (_, seen) = looks(true, STREAM);
        assert_eq!(seen, [pass(0), pass(1), pass(2), Ok(ChunkAction::Done)]);
    }

    #[test]
    fn only_the_outermost_model_is_renamed() {
        let renamed = |stream: &'static str| {
            let mut watch = ChatWatch { model: Some("\"up/good\"".into()), ..ChatWatch::default() };
            let mut splitter = Splitter::new(10_000);
            splitter.push(Bytes::from_static(stream.as_bytes()));
            match watch.look(&splitter.next().unwrap().unwrap()).unwrap() {
                ChunkAction::Pass(piece) => String::from_utf8(piece.to_vec()).unwrap(),
                look => panic!("{look:?}"),
            }
        };
        let chunk = "id: 7\r\ndata: {\"x\":{\"model\":\"a\"}, \"model\" : \"good\",\"choices\":[1.0]}\r\n\r\n"
            .replace("[1.0]", "[{\"delta\":{\"content\":\"\\\"model\\\":\"}}]");
        let chunk: &'static str = chunk.leak();
        assert_eq!(renamed(chunk), chunk.replace("\"good\"", "\"up/good\""));
        let lines = "data: {\"choices\":[],\ndata: \"model\":\"good\"}\n\n";
        assert_eq!(renamed(lines), lines.replace("\"good\"", "\"up/good\""));
        let same = "data: {\"model\":\"up/good\"}\n\n";
        assert_eq!(renamed(same), same);
        assert_eq!(renamed("data: {\"choices\":[]}\n\n"), "data: {\"choices\":[]}\n\n");
    }

    #[test]
    fn a_stream_that_says_nothing_is_noticed() {
        let (watch, _) = looks(
            false,
            "data: {\"choices\":[{\"delta\":{\"content\":\"\",\"tool_calls\":[]}}]}\n\ndata: [DONE]\n\n",
        );
        assert!(!watch.has_content);
    }

    #[test]
    fn errors_and_nonsense_are_faults() {
        let (_, seen) = looks(false, "data: {\"error\":{\"message\":\"overloaded\"}}\n\n");
        assert_eq!(seen, [Err(Fault::Told(Some("overloaded".to_owned())))]);
        let (_, seen) = looks(false, "data: {\"choices\":[\n\n");
        assert_eq!(seen, [Err(Fault::Malformed("an event is not JSON"))]);
    }

    #[test]
    fn nonsense_in_the_usage_does_no_harm() {
        let (watch, seen) = looks(
            false,
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":-4,\"completion_tokens\":\"many\"}}\n\n",
        );
        assert_eq!((watch.tokens, seen), (TokenCounts::default(), vec![Ok(ChunkAction::Skip)]));
    }
}
