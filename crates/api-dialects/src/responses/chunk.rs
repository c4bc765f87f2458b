//! A chunk of a streamed chat completion, as far as a response needs it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::super::Text;

/// One `data` event of the upstream.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<Value>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow, default)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'a>>,
    /// What some servers call `reasoning_content`.
    #[serde(borrow, default)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
}

impl Delta<'_> {
    /// What was thought, under either name.
    pub(super) fn thought(&self) -> Option<&str> {
        let text = self.reasoning_content.as_ref().or(self.reasoning.as_ref());
        text.map(|text| &**text)
    }
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<Text<'a>>,
}

/// Kind and words of an error the upstream sent inside its stream.
pub(super) fn error_words(error: &Value) -> (Cow<'_, str>, Cow<'_, str>) {
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    let kind = text("code").or_else(|| text("type")).unwrap_or("error");
    let message = text("message").or_else(|| error.as_str());
    (kind.into(), message.map_or_else(|| error.to_string().into(), Cow::Borrowed))
}
