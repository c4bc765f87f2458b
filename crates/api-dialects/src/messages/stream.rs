//! A streamed chat completion as the events of a message.

mod blocks;

use blocks::{Block, BlockWriter, Speech, write};
use bytes::BytesMut;
use serde_json::{Value, json};

use super::super::chat_messages::tool_call;
use super::super::chunk::{CallDelta, Choice, Chunk};
use super::super::fields::{Object, object, text};
use super::super::round::{Round, round_messages};
use super::super::tool_table::ToolKind;
use super::super::{
    ChatTranslator, MAX_OUTPUT_ITEMS, Malformed, Search, SearchError, SearchOutcome, ToolTable,
    Usage, opaque, web_search,
};

/// Writes the events of a message.
#[derive(Debug)]
pub struct Stream {
    shape: Shape,
    round: Round,
    blocks: BlockWriter,
    /// Text after the first call of a round; it is written after the calls.
    late_text: String,
    refusal: String,
    searches: u64,
    stop_sequence: Option<String>,
    is_done: bool,
}

impl Stream {
    /// A stream of the message of this shape.
    ///
    /// `tools` is that of the translated request; `ids` makes an id for a prefix such as `toolu`.
    pub fn new(
        shape: Shape,
        tools: ToolTable,
        ids: impl FnMut(&str) -> String + Send + 'static,
    ) -> Self {
        Self {
            shape,
            round: Round::first(tools, ids),
            blocks: BlockWriter::default(),
            late_text: String::new(),
            refusal: String::new(),
            searches: 0,
            stop_sequence: None,
            is_done: false,
        }
    }

    /// The usage of all rounds, once the upstream has reported it.
    pub fn usage(&self) -> Option<Usage> {
        self.round.total_usage()
    }

    /// The message as written so far.
    pub fn message(&self) -> Value {
        self.shape.message(self.blocks.json(), self.end(), self.usage_json())
    }

    fn usage_json(&self) -> Value {
        let mut usage = self.usage().unwrap_or_default().to_message();
        if self.searches > 0 {
            usage["server_tool_use"] =
                json!({ "web_search_requests": self.searches, "web_fetch_requests": 0 });
        }
        usage
    }

    fn end(&self) -> Object {
        let reason = match self.round.finish_reason.as_deref() {
            Some("length") => "max_tokens",
            // Some servers say `stop` after a call.
            _ if self.blocks.since(0).iter().any(Block::is_client_call) => "tool_use",
            Some("content_filter") => "refusal",
            _ if !self.refusal.is_empty() => "refusal",
            _ if self.stop_sequence.is_some() => "stop_sequence",
            _ => "end_turn",
        };
        let mut end = end_fields(Some(reason), self.stop_sequence.as_deref());
        if reason == "refusal" {
            let explanation = Some(&self.refusal).filter(|text| !text.is_empty());
            let details =
                json!({ "type": "refusal", "category": null, "explanation": explanation });
            end.insert("stop_details".into(), details);
        }
        end
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        let delta = choice.delta.unwrap_or_default();
        let has_calls = self.round.calls.positions().next().is_some();
        if let Some(thought) = delta.thought()
            && self.shape.shows_thinking
            && !has_calls
        {
            self.round.grow(thought)?;
            self.blocks.speak(Speech::Thinking, thought, out);
        }
        if let Some(text) = delta.content.as_deref() {
            self.round.grow(text)?;
            if has_calls {
                self.late_text.push_str(text);
            } else {
                self.blocks.speak(Speech::Text, text, out);
            }
        }
        if let Some(refusal) = delta.refusal.as_deref() {
            self.round.grow(refusal)?;
            self.refusal.push_str(refusal);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(&call, out)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.round.finish_reason = Some(reason.0.into_owned());
        }
        if let Some(Value::String(stop)) = choice.stop_reason {
            self.stop_sequence = Some(stop);
        }
        if self.blocks.len() > MAX_OUTPUT_ITEMS { Err(Malformed::TooLong) } else { Ok(()) }
    }

    /// Appends to a call, which begins with its name.
    fn call(&mut self, delta: &CallDelta<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        self.round.grow(delta.arguments())?;
        let n = match self.round.calls.find(delta) {
            Some(n) => n,
            None => self.begin_call(delta, out)?,
        };
        self.blocks.arguments(n, delta.arguments(), out);
        Ok(())
    }

    fn begin_call(
        &mut self,
        delta: &CallDelta<'_>,
        out: &mut BytesMut,
    ) -> Result<usize, Malformed> {
        let function = delta.name().ok_or(Malformed::Missing("name of a call"))?;
        let tool = self.round.tools.tool(function);
        // The API requires this prefix of the ids of searches.
        let id = match delta.id() {
            Some(id) if tool.kind != ToolKind::WebSearch => id.to_owned(),
            _ if tool.kind == ToolKind::WebSearch => (self.round.ids)("srvtoolu"),
            _ => (self.round.ids)("toolu"),
        };
        self.round.calls.add(delta.index, delta.id().unwrap_or(&id), self.blocks.len());
        let function = function.to_owned();
        Ok(self.blocks.add(Block::Call { id, tool, function, arguments: String::new() }, out))
    }

    /// Writes everything that is deferred to the end of the calls.
    fn end_round(&mut self, out: &mut BytesMut) {
        self.blocks.close_all(out);
        let text = std::mem::take(&mut self.late_text);
        if !text.trim().is_empty() {
            self.blocks.speak(Speech::Text, &text, out);
            self.blocks.close_all(out);
        }
    }

    /// Searches of this round without a result.
    fn pending_searches(&self) -> impl Iterator<Item = Search> {
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
}

impl ChatTranslator for Stream {
    fn start(&mut self, out: &mut BytesMut) {
        let end = end_fields(None, None);
        let message = self.shape.message(Vec::new(), end, Usage::default().to_message());
        write(out, "message_start", &json!({ "message": message }));
        write(out, "ping", &json!({}));
    }

    fn add_chunk(&mut self, chunk: Chunk<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        self.round.usage = chunk.usage().or(self.round.usage);
        chunk.into_choices().try_for_each(|choice| self.choice(choice, out))
    }

    fn finish(&mut self, out: &mut BytesMut) {
        if self.is_done {
            return;
        }
        self.end_round(out);
        // A message must not end without the result of a search.
        for search in self.pending_searches().collect::<Vec<_>>() {
            self.end_search(&search, &Err(SearchError::MaxUsesExceeded), out);
        }
        if self.blocks.is_empty() && !self.refusal.is_empty() {
            self.blocks.speak(Speech::Text, &self.refusal, out);
            self.blocks.close_all(out);
        }
        let (end, usage) = (self.end(), self.usage_json());
        write(out, "message_delta", &json!({ "delta": end, "usage": usage }));
        write(out, "message_stop", &json!({}));
        self.is_done = true;
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn has_pending_search(&self) -> bool {
        self.pending_searches().next().is_some()
    }

    fn begin_searches(&mut self, out: &mut BytesMut) -> Vec<Search> {
        self.end_round(out);
        self.pending_searches().collect()
    }

    fn end_search(&mut self, search: &Search, outcome: &SearchOutcome, out: &mut BytesMut) {
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

    fn next_round(&mut self) -> Option<Vec<Value>> {
        let (mut said, mut calls, mut results) = (String::new(), Vec::new(), Vec::new());
        for block in self.blocks.since(self.round.start) {
            match block {
                Block::Speech { kind: Speech::Text, text, .. } => said.push_str(text),
                Block::Call { .. } if block.is_client_call() => return None,
                Block::Call { id, function, arguments, .. } => {
                    calls.push(tool_call(id, function, arguments));
                }
                Block::SearchResult { tool_use_id, text, .. } => results.push(json!({
                    "role": "tool", "tool_call_id": tool_use_id, "content": text,
                })),
                Block::Speech { .. } => {}
            }
        }
        if results.is_empty() {
            return None;
        }
        self.stop_sequence = None;
        self.round.advance(self.blocks.len());
        Some(round_messages(&said, &calls, results))
    }
}

fn end_fields(reason: Option<&str>, sequence: Option<&str>) -> Object {
    let fields = [("stop_reason", reason), ("stop_sequence", sequence)];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// The id and model of a message, and whether to show thinking.
#[derive(Debug, Clone)]
pub struct Shape {
    id: String,
    model: String,
    shows_thinking: bool,
}

impl Shape {
    /// The shape of the answer to a messages request.
    ///
    /// Thinking is shown only to clients that requested it: others expect text first.
    pub fn new(body: &Object, id: &str) -> Self {
        let shows_thinking = object(body, "thinking").is_some_and(|thinking| {
            text(thinking, "type") != Some("disabled")
                && text(thinking, "display") != Some("omitted")
        });
        let model = text(body, "model").unwrap_or_default().to_owned();
        Self { id: id.to_owned(), model, shows_thinking }
    }

    fn message(&self, content: Vec<Value>, end: Object, usage: Value) -> Value {
        let mut message = Object::new();
        message.insert("id".into(), self.id.as_str().into());
        message.insert("type".into(), "message".into());
        message.insert("role".into(), "assistant".into());
        message.insert("model".into(), self.model.as_str().into());
        message.insert("content".into(), content.into());
        message.insert("usage".into(), usage);
        message.extend(end);
        message.into()
    }
}

pub fn error(kind: &str, message: &str, request_id: Option<&str>) -> Value {
    let mut body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    if let Some(id) = request_id {
        body["request_id"] = id.into();
    }
    body
}

pub fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        503 | 529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
