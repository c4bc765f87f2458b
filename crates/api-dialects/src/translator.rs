//! Streamed chat completions as the stream of another API.

use bytes::BytesMut;
use serde_json::Value;
use wire::sse::Event;

use super::chunk::Chunk;
use super::{Malformed, Search, SearchOutcome, StreamFault};

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

    /// Translates a chunk.
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
