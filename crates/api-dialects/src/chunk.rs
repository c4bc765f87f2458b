//! A chunk of a streamed chat completion, or a whole completion, as far as other APIs need it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::{Malformed, StreamFault, Text, Usage};

/// One `data` event of the upstream.
#[derive(Debug, Deserialize)]
pub struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Value>,
    error: Option<Value>,
}

impl<'a> Chunk<'a> {
    /// Reads a `data` event; an error in it ends the stream.
    pub(crate) fn read(data: &'a [u8]) -> Result<Self, StreamFault> {
        let chunk: Self = serde_json::from_slice(data).map_err(|_| Malformed::Event)?;
        if let Some(error) = chunk.error.as_ref().filter(|error| !error.is_null()) {
            let (kind, message) = error_words(error);
            return Err(StreamFault::upstream(&kind, &message));
        }
        Ok(chunk)
    }

    /// A whole completion as one chunk.
    pub(crate) fn of_completion(completion: &'a Value) -> Result<Self, Malformed> {
        let choice = completion.pointer("/choices/0").ok_or(Malformed::Missing("choice"))?;
        let message = choice.get("message").ok_or(Malformed::Missing("message"))?;
        let mut delta = Delta::deserialize(message).map_err(|_| Malformed::Missing("message"))?;
        for (call, index) in delta.tool_calls.iter_mut().flatten().zip(0..) {
            call.index = Some(index);
        }
        let finish_reason = choice.get("finish_reason").and_then(Value::as_str);
        let choice = Choice {
            index: 0,
            delta: Some(delta),
            finish_reason: finish_reason.map(|reason| Text(reason.into())),
            stop_reason: choice.get("stop_reason").cloned(),
        };
        let usage = completion.get("usage").cloned();
        Ok(Self { choices: Some(vec![choice]), usage, error: None })
    }

    /// The reported usage, if this chunk has it.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage.as_ref().filter(|usage| usage.is_object()).map(Usage::of_chat)
    }

    /// The first choice; the other APIs have only one answer.
    pub(crate) fn into_choices(self) -> impl Iterator<Item = Choice<'a>> {
        self.choices.into_iter().flatten().filter(|choice| choice.index == 0)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    pub(crate) delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(crate) finish_reason: Option<Text<'a>>,
    /// The stop sequence or token that ended the answer, if reported.
    pub(crate) stop_reason: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(crate) content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'a>>,
    /// `reasoning_content` by another name.
    #[serde(borrow, default)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) tool_calls: Option<Vec<CallDelta<'a>>>,
}

impl Delta<'_> {
    /// The reasoning text, under either name.
    pub(crate) fn thought(&self) -> Option<&str> {
        let text = self.reasoning_content.as_ref().or(self.reasoning.as_ref());
        text.map(|text| &**text)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct CallDelta<'a> {
    pub(crate) index: Option<u64>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    function: Option<FunctionDelta<'a>>,
}

impl CallDelta<'_> {
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| !id.is_empty())
    }

    pub(crate) fn name(&self) -> Option<&str> {
        let name = self.function.as_ref()?.name.as_deref();
        name.filter(|name| !name.is_empty())
    }

    /// The next fragment of the arguments.
    pub(crate) fn arguments(&self) -> &str {
        let fragment = self.function.as_ref().and_then(|function| function.arguments.as_deref());
        fragment.unwrap_or_default()
    }
}

#[derive(Debug, Default, Deserialize)]
struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<Text<'a>>,
}

/// Type and message of an error inside a stream.
fn error_words(error: &Value) -> (Cow<'_, str>, Cow<'_, str>) {
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    let kind = text("code").or_else(|| text("type")).unwrap_or("error");
    let message = text("message").or_else(|| error.as_str());
    (kind.into(), message.map_or_else(|| error.to_string().into(), Cow::Borrowed))
}
