//! A streamed chat completion as the events of a response.

use bytes::BytesMut;
use serde_json::{Value, json};

use super::super::chat_messages::tool_call;
use super::super::chunk::{CallDelta, Choice, Chunk};
use super::super::round::{Round, round_messages};
use super::super::tool_table::ToolKind;
use super::super::{
    ChatTranslator, MAX_OUTPUT_ITEMS, Malformed, Search, SearchOutcome, SearchResult, ToolTable,
    Usage, web_search,
};
use super::output::{
    DeltaEvent, EventWriter, FinishedSearch, Item, Kind, Part, PartKind, SearchItem, call_id_prefix,
};
use super::shape::{Outcome, Shape, Status};
use super::tools::free_form_input;

/// Writes the events of a response.
#[derive(Debug)]
pub struct Stream {
    shape: Shape,
    round: Round,
    events: EventWriter,
    items: Vec<Item>,
    /// The item whose last part is open for text.
    speaking: Option<usize>,
    /// The pages that searches found.
    sources: Vec<SearchResult>,
    end: Option<Value>,
}

impl Stream {
    /// A stream of the response of this shape.
    ///
    /// `tools` is that of the translated request; `ids` makes an id for a prefix such as `msg`.
    pub fn new(
        shape: Shape,
        tools: ToolTable,
        ids: impl FnMut(&str) -> String + Send + 'static,
    ) -> Self {
        Self {
            shape,
            round: Round::first(tools, ids),
            events: EventWriter::default(),
            items: Vec::new(),
            speaking: None,
            sources: Vec::new(),
            end: None,
        }
    }

    /// Ends the response with an error. `code` is one of the API's own, as in `server_error`.
    pub fn fail(&mut self, code: &str, message: &str, out: &mut BytesMut) {
        if self.end.is_some() {
            return;
        }
        // Open items stay incomplete.
        let open: Vec<usize> = self.round.calls.positions().chain(self.speaking).collect();
        let state = |n| if open.contains(&n) { "incomplete" } else { "completed" };
        let output = self.items.iter().enumerate().map(|(n, item)| item.json(state(n))).collect();
        let error = Some((code.to_owned(), message.to_owned()));
        let outcome = Outcome { output, usage: self.usage(), error, ..Outcome::of(Status::Failed) };
        self.conclude("response.failed", outcome, out);
    }

    /// The usage of all rounds, once the upstream has reported it.
    pub fn usage(&self) -> Option<Usage> {
        self.round.total_usage()
    }

    /// The response object to store, after the end.
    pub fn final_response(&self) -> Option<&Value> {
        self.end.as_ref()
    }

    pub fn into_response(self) -> Option<Value> {
        self.end
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        let delta = choice.delta.unwrap_or_default();
        let said = [
            (PartKind::Reasoning, delta.thought()),
            (PartKind::Text, delta.content.as_deref()),
            (PartKind::Refusal, delta.refusal.as_deref()),
        ];
        for (kind, text) in said {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                self.round.grow(text)?;
                self.speak(kind, text, out);
            }
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(&call, out)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.round.finish_reason = Some(reason.0.into_owned());
        }
        if self.items.len() > MAX_OUTPUT_ITEMS { Err(Malformed::TooLong) } else { Ok(()) }
    }

    /// Adds text to the open part, or to a new one of this kind.
    fn speak(&mut self, kind: PartKind, text: &str, out: &mut BytesMut) {
        let n = self.open_speech(kind, out);
        let Some(Item { id, kind: Kind::Parts { parts, .. } }) = self.items.get_mut(n) else {
            return;
        };
        let content_index = parts.len().saturating_sub(1);
        if let Some(part) = parts.last_mut() {
            part.text.push_str(text);
        }
        if text.is_empty() {
            return;
        }
        let delta = DeltaEvent {
            item_id: id,
            output_index: n,
            content_index: Some(content_index),
            delta: text,
            logprobs: (kind == PartKind::Text).then_some([]),
        };
        self.events.write(out, kind.events().0, &delta);
    }

    /// The item for parts of this kind, with an open part of this kind at its end.
    fn open_speech(&mut self, kind: PartKind, out: &mut BytesMut) -> usize {
        if let Some(n) = self.speaking
            && let Kind::Parts { is_reasoning, parts } = &self.items[n].kind
        {
            if parts.last().is_some_and(|part| part.kind == kind) {
                return n;
            }
            if *is_reasoning == kind.is_reasoning() {
                self.close_part(n, out);
                self.open_part(n, kind, out);
                return n;
            }
            self.close_speech("completed", out);
        }
        let id = (self.round.ids)(if kind.is_reasoning() { "rs" } else { "msg" });
        let parts = Kind::Parts { is_reasoning: kind.is_reasoning(), parts: Vec::new() };
        let n = self.add(Item { id, kind: parts }, out);
        self.speaking = Some(n);
        self.open_part(n, kind, out);
        n
    }

    fn add(&mut self, item: Item, out: &mut BytesMut) -> usize {
        let n = self.items.len();
        let added = json!({ "output_index": n, "item": item.json("in_progress") });
        self.items.push(item);
        self.events.write(out, "response.output_item.added", &added);
        n
    }

    fn open_part(&mut self, n: usize, kind: PartKind, out: &mut BytesMut) {
        let Item { id, kind: Kind::Parts { parts, .. } } = &mut self.items[n] else { return };
        let part = Part::new(kind);
        let added = json!({
            "item_id": id,
            "output_index": n,
            "content_index": parts.len(),
            "part": part.json(),
        });
        parts.push(part);
        self.events.write(out, "response.content_part.added", &added);
    }

    fn close_part(&mut self, n: usize, out: &mut BytesMut) {
        let Item { id, kind: Kind::Parts { parts, .. } } = &mut self.items[n] else { return };
        let index = parts.len().saturating_sub(1);
        let Some(part) = parts.last_mut() else { return };
        let place = json!({ "item_id": id, "output_index": n, "content_index": index });
        if part.kind == PartKind::Text {
            part.cite(&self.sources);
        }
        for (annotation_index, annotation) in part.annotations.iter().enumerate() {
            let mut added = place.clone();
            added["annotation_index"] = annotation_index.into();
            added["annotation"] = annotation.clone();
            self.events.write(out, "response.output_text.annotation.added", &added);
        }
        let mut part_done = place.clone();
        part_done["part"] = part.json();
        let mut done = place;
        let field = if part.kind == PartKind::Refusal { "refusal" } else { "text" };
        done[field] = part.text.as_str().into();
        if part.kind == PartKind::Text {
            done["logprobs"] = json!([]);
        }
        self.events.write(out, part.kind.events().1, &done);
        self.events.write(out, "response.content_part.done", &part_done);
    }

    fn close_speech(&mut self, status: &str, out: &mut BytesMut) {
        if let Some(n) = self.speaking.take() {
            self.close_part(n, out);
            self.close_item(n, status, out);
        }
    }

    fn close_item(&mut self, n: usize, status: &str, out: &mut BytesMut) {
        let done = json!({ "output_index": n, "item": self.items[n].json(status) });
        self.events.write(out, "response.output_item.done", &done);
    }

    fn conclude(&mut self, kind: &'static str, outcome: Outcome, out: &mut BytesMut) {
        let mut ended = json!({ "response": self.shape.response(outcome) });
        self.events.write(out, kind, &ended);
        self.end = Some(ended["response"].take());
    }

    /// Searches of this round without a result.
    fn pending_searches(&self) -> impl Iterator<Item = (usize, &SearchItem)> {
        let round = self.items.iter().enumerate().skip(self.round.start);
        round.filter_map(|(n, item)| match &item.kind {
            Kind::Search(search) if search.result.is_none() => Some((n, search)),
            _ => None,
        })
    }

    fn search_event(&mut self, n: usize, kind: &'static str, out: &mut BytesMut) {
        let Item { id, .. } = &self.items[n];
        let event = json!({ "item_id": id, "output_index": n });
        self.events.write(out, kind, &event);
    }
}

impl ChatTranslator for Stream {
    fn start(&mut self, out: &mut BytesMut) {
        let whole = json!({ "response": self.shape.response(Outcome::of(Status::InProgress)) });
        self.events.write(out, "response.created", &whole);
        self.events.write(out, "response.in_progress", &whole);
    }

    fn add_chunk(&mut self, chunk: Chunk<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        self.round.usage = chunk.usage().or(self.round.usage);
        chunk.into_choices().try_for_each(|choice| self.choice(choice, out))
    }

    fn finish(&mut self, out: &mut BytesMut) {
        if self.end.is_some() {
            return;
        }
        if self.items.is_empty() {
            self.speak(PartKind::Text, "", out);
        }
        let reason = self.round.finish_reason.take().unwrap_or_default();
        let mut outcome = Outcome::ended(Vec::new(), self.usage(), &reason);
        let last = self.items.len() - 1;
        let status = |n| if n == last { outcome.status.name() } else { "completed" };
        if let Some(n) = self.speaking {
            self.close_speech(status(n), out);
        }
        for n in std::mem::take(&mut self.round.calls).positions() {
            self.close_call(n, status(n), out);
        }
        outcome.output =
            self.items.iter().enumerate().map(|(n, item)| item.json(status(n))).collect();
        let kind = match outcome.status {
            Status::Incomplete => "response.incomplete",
            _ => "response.completed",
        };
        self.conclude(kind, outcome, out);
    }

    fn is_done(&self) -> bool {
        self.end.is_some()
    }

    fn has_pending_search(&self) -> bool {
        self.pending_searches().next().is_some()
    }

    fn begin_searches(&mut self, out: &mut BytesMut) -> Vec<Search> {
        // The client answers first: an item of a search carries no results, so they would be lost.
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

    fn end_search(&mut self, search: &Search, outcome: &SearchOutcome, out: &mut BytesMut) {
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

    fn next_round(&mut self) -> Option<Vec<Value>> {
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
}

impl Stream {
    /// Appends to a call, which begins with its name.
    pub(super) fn call(
        &mut self,
        delta: &CallDelta<'_>,
        out: &mut BytesMut,
    ) -> Result<(), Malformed> {
        let fragment = delta.arguments();
        self.round.grow(fragment)?;
        let n = match self.round.calls.find(delta) {
            Some(n) => n,
            None => self.begin_call(delta, out)?,
        };
        let Item { id, kind } = &mut self.items[n];
        match kind {
            Kind::Call { tool, arguments, .. } => {
                arguments.push_str(fragment);
                // Other calls have no events for JSON arguments.
                if tool.kind == ToolKind::Function && !fragment.is_empty() {
                    let default = DeltaEvent::default();
                    let delta =
                        DeltaEvent { item_id: id, output_index: n, delta: fragment, ..default };
                    self.events.write(out, "response.function_call_arguments.delta", &delta);
                }
            }
            Kind::Search(search) => search.arguments.push_str(fragment),
            Kind::Parts { .. } => {}
        }
        Ok(())
    }

    fn begin_call(
        &mut self,
        delta: &CallDelta<'_>,
        out: &mut BytesMut,
    ) -> Result<usize, Malformed> {
        let function = delta.name().ok_or(Malformed::Missing("name of a call"))?;
        self.close_speech("completed", out);
        let call_id = delta.id().map(str::to_owned);
        let call_id = call_id.unwrap_or_else(|| (self.round.ids)("call"));
        self.round.calls.add(delta.index, &call_id, self.items.len());
        let tool = self.round.tools.tool(function);
        let id = (self.round.ids)(call_id_prefix(tool.kind));
        let is_search = tool.kind == ToolKind::WebSearch;
        let arguments = String::new();
        let kind = if is_search {
            let function = function.to_owned();
            Kind::Search(SearchItem { call_id, function, arguments, result: None })
        } else {
            Kind::Call { call_id, tool, arguments }
        };
        let n = self.add(Item { id, kind }, out);
        if is_search {
            self.search_event(n, "response.web_search_call.in_progress", out);
        }
        Ok(n)
    }

    pub(super) fn close_call(&mut self, n: usize, status: &str, out: &mut BytesMut) {
        let Item { id, kind } = &self.items[n];
        match kind {
            Kind::Call { tool, arguments, .. } => match tool.kind {
                ToolKind::Custom => {
                    let input = free_form_input(arguments);
                    let default = DeltaEvent::default();
                    let delta =
                        DeltaEvent { item_id: id, output_index: n, delta: &input, ..default };
                    self.events.write(out, "response.custom_tool_call_input.delta", &delta);
                    let done = json!({ "item_id": id, "output_index": n, "input": input });
                    self.events.write(out, "response.custom_tool_call_input.done", &done);
                }
                ToolKind::Function => {
                    let done = json!({
                        "item_id": id, "output_index": n, "name": tool.name, "arguments": arguments,
                    });
                    self.events.write(out, "response.function_call_arguments.done", &done);
                }
                ToolKind::ToolSearch | ToolKind::WebSearch => {}
            },
            // A search with a result is closed already.
            Kind::Search(search) if search.result.is_some() => return,
            Kind::Search(_) | Kind::Parts { .. } => {}
        }
        self.close_item(n, status, out);
    }
}
