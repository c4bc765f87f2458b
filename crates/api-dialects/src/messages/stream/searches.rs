//! Web searches between the rounds of one message.

use bytes::BytesMut;
use serde_json::{Value, json};

use super::super::super::chat_messages::tool_call;
use super::super::super::round::round_messages;
use super::super::super::tool_table::ToolKind;
use super::super::super::{Search, SearchError, SearchOutcome, opaque, web_search};
use super::Stream;
use super::block::Block;

impl Stream {
    /// Ends a round and returns the searches to execute; empty if the message can be finished.
    ///
    /// Report every search with [`end_search`](Self::end_search), then continue the message with
    /// [`next_round`](Self::next_round).
    pub fn begin_searches(&mut self, out: &mut BytesMut) -> Vec<Search> {
        self.end_round(out);
        self.pending_searches().collect()
    }

    /// Writes the outcome of a search returned by [`begin_searches`](Self::begin_searches).
    pub fn end_search(&mut self, search: &Search, outcome: &SearchOutcome, out: &mut BytesMut) {
        let results = outcome.as_deref().unwrap_or_default();
        let content = match outcome {
            Ok(results) => results
                .iter()
                .map(|result| {
                    json!({
                        "type": "web_search_result",
                        "url": result.url,
                        "title": result.title,
                        "encrypted_content": opaque::encode(&result.content),
                        "page_age": result.page_age,
                    })
                })
                .collect(),
            Err(error) => {
                json!({ "type": "web_search_tool_result_error", "error_code": error.code() })
            }
        };
        let block = Block::SearchResult {
            tool_use_id: search.call_id.clone(),
            content,
            text: web_search::tool_text(outcome),
        };
        self.blocks.search_result(block, results, out);
        self.searches += u64::from(outcome.is_ok());
    }

    /// Starts the next round and returns the chat messages to append to the request for it.
    ///
    /// `None` means that the message must be finished: no search has ended in this round, or the
    /// model also called tools of the client, which answers next.
    pub fn next_round(&mut self) -> Option<Vec<Value>> {
        let (mut said, mut calls, mut results) = (String::new(), Vec::new(), Vec::new());
        for block in self.blocks.since(self.round.start) {
            match block {
                Block::Text { text, .. } => said.push_str(text),
                Block::Call { .. } if block.is_client_call() => return None,
                Block::Call { id, function, arguments, .. } => {
                    calls.push(tool_call(id, function, arguments));
                }
                Block::SearchResult { tool_use_id, text, .. } => results.push(json!({
                    "role": "tool", "tool_call_id": tool_use_id, "content": text,
                })),
                Block::Thinking { .. } => {}
            }
        }
        if results.is_empty() {
            return None;
        }
        self.stop_sequence = None;
        self.round.advance(self.blocks.len());
        Some(round_messages(&said, &calls, results))
    }

    /// Searches of this round without a result.
    pub(super) fn pending_searches(&self) -> impl Iterator<Item = Search> {
        let round = self.blocks.since(self.round.start);
        let has_result = move |call: &str| {
            let is_it = |block: &Block| matches!(block, Block::SearchResult { tool_use_id, .. } if tool_use_id == call);
            round.iter().any(is_it)
        };
        round.iter().filter_map(move |block| match block {
            Block::Call { id, tool, arguments, .. }
                if tool.kind == ToolKind::WebSearch && !has_result(id) =>
            {
                Some(Search { call_id: id.clone(), query: web_search::query(arguments) })
            }
            _ => None,
        })
    }

    /// Adds a result to every unexecuted search: a message must not end without them.
    pub(super) fn abandon_searches(&mut self, out: &mut BytesMut) {
        for search in self.pending_searches().collect::<Vec<_>>() {
            self.end_search(&search, &Err(SearchError::MaxUsesExceeded), out);
        }
    }
}
