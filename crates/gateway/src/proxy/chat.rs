//! Answers of the chat interface, watched as they pass.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use ledger::TokenCounts;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::sse::Event;

/// The data of the event that ends a stream.
const DONE: &[u8] = b"[DONE]";

/// Watches a stream of chat completion chunks.
#[derive(Debug, Default)]
pub(crate) struct ChatWatch {
    /// Whether the client asked for the usage. We always do.
    pub(crate) wants_usage: bool,
    /// The name of the model in the answer, as JSON; `None` keeps the upstream's name.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) tokens: TokenCounts,
    /// Whether anything was said.
    pub(crate) has_content: bool,
}

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Pass this on.
    Pass(Bytes),
    Skip,
    Done,
}

/// What is wrong with a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The upstream says that it failed; its words are not cleaned yet.
    Told(Option<String>),
    /// An event cannot be understood.
    Malformed(&'static str),
}

impl ChatWatch {
    pub(crate) fn look(&mut self, event: &Event) -> Result<Look, Fault> {
        let whole = event.data();
        let data = whole.trim_ascii();
        if data.is_empty() {
            return Ok(Look::Skip);
        }
        if data == DONE {
            return Ok(Look::Done);
        }
        let chunk: Chunk<'_> =
            serde_json::from_slice(data).map_err(|_| Fault::Malformed("an event is not JSON"))?;
        if let Some(error) = chunk.error {
            return Err(Fault::Told(message_of(error.get())));
        }
        let choices = chunk.choices.as_deref().unwrap_or_default();
        self.has_content |= choices.iter().any(Choice::says_something);
        if let Some(usage) = chunk.usage {
            self.tokens = usage.tokens();
            if choices.is_empty() && !self.wants_usage {
                return Ok(Look::Skip);
            }
        }
        let Some((found, model)) = chunk.model.zip(self.model.as_deref()) else {
            return Ok(Look::Pass(event.raw().clone()));
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
        Ok(Look::Pass(piece))
    }
}

/// The text that a value was found in, with another value in its place; `None` if nothing changes.
/// Every other byte stays as it is.
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

/// What is looked at of a chunk, or of a whole completion.
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
    delta: Option<Said<'a>>,
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// Every way in which a model can say something.
#[derive(Debug, Deserialize)]
struct Said<'a> {
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

/// What an upstream counted; nonsense is as good as nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    prompt_tokens: Count,
    completion_tokens: Count,
}

/// A count that may be anything.
#[derive(Debug, Default)]
struct Count(Option<i64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_i64().filter(|count| (0..=MAX_TOKENS).contains(count))))
    }
}

/// More than any model reads or writes.
const MAX_TOKENS: i64 = 1_000_000_000;

impl Usage {
    pub(crate) fn tokens(&self) -> TokenCounts {
        TokenCounts { input: self.prompt_tokens.0, output: self.completion_tokens.0 }
    }
}

impl Choice<'_> {
    pub(crate) fn says_something(&self) -> bool {
        let is_something = |value: &RawValue| !matches!(value.get(), "\"\"" | "[]" | "{}");
        let said = |said: &Said<'_>| {
            [
                said.content,
                said.tool_calls,
                said.function_call,
                said.refusal,
                said.reasoning_content,
                said.reasoning,
                said.audio,
            ]
            .into_iter()
            .flatten()
            .any(is_something)
        };
        self.delta.as_ref().is_some_and(said)
            || self.message.as_ref().is_some_and(said)
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

    fn looks(wants_usage: bool, stream: &'static str) -> (ChatWatch, Vec<Result<Look, Fault>>) {
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
        let pass = |number: usize| Ok(Look::Pass(passed[number].clone()));
        assert_eq!(seen, [pass(0), pass(1), Ok(Look::Skip), Ok(Look::Done)]);
        let (_, seen) = looks(true, STREAM);
        assert_eq!(seen, [pass(0), pass(1), pass(2), Ok(Look::Done)]);
    }

    #[test]
    fn only_the_outermost_model_is_renamed() {
        let renamed = |stream: &'static str| {
            let mut watch = ChatWatch { model: Some("\"up/good\"".into()), ..ChatWatch::default() };
            let mut splitter = Splitter::new(10_000);
            splitter.push(Bytes::from_static(stream.as_bytes()));
            match watch.look(&splitter.next().unwrap().unwrap()).unwrap() {
                Look::Pass(piece) => String::from_utf8(piece.to_vec()).unwrap(),
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
        assert_eq!((watch.tokens, seen), (TokenCounts::default(), vec![Ok(Look::Skip)]));
    }
}
