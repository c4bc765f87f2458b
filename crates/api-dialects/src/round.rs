//! State shared by the streams of both APIs: the tools, and the current round.

use bytes::BytesMut;
use serde_json::{Value, json};
use wire::sse::Event;

use super::chunk::{CallDelta, Chunk};
use super::{MAX_OUTPUT_BYTES, Malformed, Search, SearchOutcome, StreamFault, ToolTable, Usage};

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
        self.calls = OpenCalls::default();
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
}

/// Translates one stream: fed with chunks, it writes the events of the other API.
///
/// Call [`start`](Self::start) first. The end is the upstream's `[DONE]`, or
/// [`finish`](Self::finish); nothing is written after it. If the model called for web searches,
/// `[DONE]` ends only the round: see [`begin_searches`](Self::begin_searches).
pub trait ChatTranslator {
    fn start(&mut self, out: &mut BytesMut);

    #[doc(hidden)]
    fn add_chunk(&mut self, chunk: Chunk<'_>, out: &mut BytesMut) -> Result<(), Malformed>;

    /// Ends the answer with the content so far; later chunks are ignored.
    fn finish(&mut self, out: &mut BytesMut);

    fn is_done(&self) -> bool;

    /// Whether a search of this round has no result yet.
    fn has_pending_search(&self) -> bool;

    /// Ends a round and returns the searches to execute; empty if the answer can be finished.
    ///
    /// Report every search with [`end_search`](Self::end_search), then continue the answer with
    /// [`next_round`](Self::next_round).
    fn begin_searches(&mut self, out: &mut BytesMut) -> Vec<Search>;

    /// Writes the outcome of a search returned by [`begin_searches`](Self::begin_searches).
    fn end_search(&mut self, search: &Search, outcome: &SearchOutcome, out: &mut BytesMut);

    /// Starts the next round and returns the chat messages to append to the request for it.
    ///
    /// `None` means that the answer must be finished: no search has ended in this round, or the
    /// client must answer calls of other tools first.
    fn next_round(&mut self) -> Option<Vec<Value>>;

    fn feed(&mut self, event: &Event, out: &mut BytesMut) -> Result<(), StreamFault> {
        if self.is_done() || event.is_comment() {
            return Ok(());
        }
        let data = event.data();
        if &*data == b"[DONE]" {
            if !self.has_pending_search() {
                self.finish(out);
            }
            return Ok(());
        }
        Ok(self.add_chunk(Chunk::read(&data)?, out)?)
    }

    /// Adds a whole completion, the answer of one round.
    fn add_completion(&mut self, completion: &Value, out: &mut BytesMut) -> Result<(), Malformed> {
        self.add_chunk(Chunk::of_completion(completion)?, out)
    }
}
