//! State shared by the streams of both APIs: the tools, and the current round.

use serde_json::{Value, json};

use super::chunk::CallDelta;
use super::{MAX_OUTPUT_BYTES, Malformed, ToolTable, Usage};

/// The current round of a streamed answer, which web searches split into rounds.
pub(crate) struct Round {
    pub(crate) tools: ToolTable,
    pub(crate) ids: Box<dyn FnMut(&str) -> String + Send>,
    pub(crate) calls: OpenCalls,
    /// The first block or item of this round.
    pub(crate) start: usize,
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: Option<Usage>,
    earlier_usage: Option<Usage>,
    output_bytes: usize,
}

impl Round {
    pub(crate) fn first(
        tools: ToolTable,
        ids: impl FnMut(&str) -> String + Send + 'static,
    ) -> Self {
        Self {
            tools,
            ids: Box::new(ids),
            calls: OpenCalls::default(),
            start: 0,
            finish_reason: None,
            usage: None,
            earlier_usage: None,
            output_bytes: 0,
        }
    }

    /// Starts the next round, whose blocks or items begin at `start`.
    pub(crate) fn advance(&mut self, start: usize) {
        self.earlier_usage = self.total_usage();
        self.usage = None;
        self.finish_reason = None;
        self.calls.clear();
        self.start = start;
    }

    /// The usage of all rounds, once the upstream has reported it.
    pub(crate) fn total_usage(&self) -> Option<Usage> {
        match (self.earlier_usage, self.usage) {
            (Some(earlier), Some(usage)) => Some(earlier.plus(usage)),
            (earlier, usage) => usage.or(earlier),
        }
    }

    /// Counts output to be buffered.
    pub(crate) fn grow(&mut self, text: &str) -> Result<(), Malformed> {
        self.output_bytes += text.len();
        if self.output_bytes > MAX_OUTPUT_BYTES { Err(Malformed::TooLong) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Round {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Round").field("calls", &self.calls).finish_non_exhaustive()
    }
}

/// The chat messages of a round with searches: the model's message, then the results.
pub(crate) fn round_messages(text: &str, calls: &[Value], results: Vec<Value>) -> Vec<Value> {
    let content = if text.is_empty() { Value::Null } else { text.into() };
    let said = json!({ "role": "assistant", "content": content, "tool_calls": calls });
    std::iter::once(said).chain(results).collect()
}

/// The calls of a streamed completion, each with its position in the answer.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    calls: Vec<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    index: u64,
    id: String,
    position: usize,
}

impl OpenCalls {
    /// The position of the call that the fragment continues; `None` if it begins a new call.
    ///
    /// Without an index, a new id begins a new call. Some servers use the same index for all
    /// calls: there a new id with a name does.
    pub(crate) fn find(&self, delta: &CallDelta<'_>) -> Option<usize> {
        let call = match delta.index {
            Some(index) => self.calls.iter().rfind(|call| call.index == index)?,
            None => self.calls.last()?,
        };
        let other_id = delta.id().is_some_and(|id| id != call.id);
        let is_new = other_id && (delta.index.is_none() || delta.name().is_some());
        (!is_new).then_some(call.position)
    }

    pub(crate) fn add(&mut self, index: Option<u64>, id: &str, position: usize) {
        let next = || self.calls.last().map_or(0, |call| call.index.saturating_add(1));
        let index = index.unwrap_or_else(next);
        self.calls.push(OpenCall { index, id: id.to_owned(), position });
    }

    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        self.calls.iter().map(|call| call.position)
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
    }
}
