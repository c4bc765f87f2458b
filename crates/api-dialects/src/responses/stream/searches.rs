//! Web searches between the rounds of one response.

use bytes::BytesMut;
use serde_json::{Value, json};

use super::super::super::chat_messages::tool_call;
use super::super::super::round::round_messages;
use super::super::super::web_search;
use super::super::super::{Search, SearchOutcome};
use super::super::output::{FinishedSearch, Item, Kind, PartKind, SearchItem};
use super::Stream;

impl Stream {
    /// Ends a round and returns the searches to execute; empty if the response can be finished.
    ///
    /// Report every search with [`end_search`](Self::end_search), then continue the response with
    /// [`next_round`](Self::next_round). If the model also called tools of the client, the client
    /// answers first: an item of a search carries no results, so they would be lost.
    pub fn begin_searches(&mut self, out: &mut BytesMut) -> Vec<Search> {
        let is_of_client = |n: usize| matches!(self.items[n].kind, Kind::Call { .. });
        if self.round.calls.positions().any(is_of_client) {
            return Vec::new();
        }
        let pending: Vec<(usize, Search)> = self
            .pending_searches()
            .map(|(n, search)| {
                (n, Search { call_id: search.call_id.clone(), query: search.query() })
            })
            .collect();
        if !pending.is_empty() {
            self.close_speech("completed", out);
        }
        for (n, _) in &pending {
            self.search_event(*n, "response.web_search_call.searching", out);
        }
        pending.into_iter().map(|(_, search)| search).collect()
    }

    /// Writes the end of a search returned by [`begin_searches`](Self::begin_searches).
    pub fn end_search(&mut self, search: &Search, outcome: &SearchOutcome, out: &mut BytesMut) {
        let position = self
            .pending_searches()
            .find(|(_, item)| item.call_id == search.call_id)
            .map(|(n, _)| n);
        let Some(n) = position else { return };
        let results = outcome.as_deref().unwrap_or_default();
        if let Kind::Search(item) = &mut self.items[n].kind {
            item.result = Some(FinishedSearch {
                status: if outcome.is_ok() { "completed" } else { "failed" },
                text: web_search::tool_text(outcome),
                urls: results.iter().map(|result| result.url.clone()).collect(),
            });
        }
        self.sources.extend_from_slice(results);
        if outcome.is_ok() {
            self.search_event(n, "response.web_search_call.completed", out);
        }
        self.close_item(n, "completed", out);
    }

    /// Starts the next round and returns the chat messages to append to the request for it.
    ///
    /// `None` means that no search has ended in this round: finish the response.
    pub fn next_round(&mut self) -> Option<Vec<Value>> {
        let (mut text, mut calls, mut results) = (String::new(), Vec::new(), Vec::new());
        for item in &self.items[self.round.start..] {
            match &item.kind {
                Kind::Parts { parts, .. } => {
                    let said = parts.iter().filter(|part| part.kind == PartKind::Text);
                    text.extend(said.map(|part| part.text.as_str()));
                }
                Kind::Search(search) => {
                    let SearchItem { call_id, function, arguments, result } = search;
                    let Some(result) = result else { continue };
                    calls.push(tool_call(call_id, function, arguments));
                    results.push(json!({
                        "role": "tool", "tool_call_id": call_id, "content": result.text,
                    }));
                }
                Kind::Call { .. } => {}
            }
        }
        if calls.is_empty() {
            return None;
        }
        self.round.advance(self.items.len());
        Some(round_messages(&text, &calls, results))
    }

    /// Searches of this round without a result.
    pub(super) fn pending_searches(&self) -> impl Iterator<Item = (usize, &SearchItem)> {
        let round = self.items.iter().enumerate().skip(self.round.start);
        round.filter_map(|(n, item)| match &item.kind {
            Kind::Search(search) if search.result.is_none() => Some((n, search)),
            _ => None,
        })
    }

    pub(super) fn search_event(&mut self, n: usize, kind: &'static str, out: &mut BytesMut) {
        let Item { id, .. } = &self.items[n];
        let event = json!({ "item_id": id, "output_index": n });
        self.events.write(out, kind, &event);
    }
}
