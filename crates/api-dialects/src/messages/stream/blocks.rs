//! Content blocks in the order of the stream, one open at a time.
//!
//! Fragments of parallel calls can interleave in a chat stream, but blocks cannot. The first
//! call is written as it arrives; later ones wait for the previous ones to complete.

use bytes::BytesMut;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::super::tool_table::{Tool, ToolKind};
use super::super::super::{MAX_CITED_CHARS, SearchResult, web_search, write_event};

/// Writes one event: its name, and data with the same name as `type`.
pub(super) fn write(out: &mut BytesMut, kind: &'static str, fields: &impl Serialize) {
    write_event(out, kind, None, fields);
}

#[derive(Serialize)]
struct BlockDelta<'a> {
    index: usize,
    delta: Delta<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Delta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: &'a str },
    #[serde(rename = "citations_delta")]
    Citation { citation: &'a Value },
}

#[derive(Debug)]
pub(super) enum Block {
    /// Thinking has no citations.
    Speech { kind: Speech, text: String, citations: Vec<Value> },
    /// A call of a tool of the client or of a web search.
    Call { id: String, tool: Tool, function: String, arguments: String },
    /// The outcome of a web search, for the client and as the model reads it.
    SearchResult { tool_use_id: String, content: Value, text: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    Text,
    Thinking,
}

impl Block {
    pub(super) fn is_client_call(&self) -> bool {
        matches!(self, Self::Call { tool, .. } if tool.kind != ToolKind::WebSearch)
    }

    /// Whether it is complete: a call ends with its JSON, other blocks with the next one.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Call { arguments, .. } => {
                arguments.trim_end().ends_with('}')
                    && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
            }
            _ => true,
        }
    }

    /// The block in its start event.
    pub(super) fn start_json(&self) -> Value {
        match self {
            Self::Speech { kind, .. } => speech(*kind, ""),
            Self::Call { id, tool, .. } => call(id, tool, &json!({})),
            Self::SearchResult { .. } => self.json(),
        }
    }

    /// The whole block.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Speech { text, citations, .. } if !citations.is_empty() => {
                json!({ "type": "text", "text": text, "citations": citations })
            }
            Self::Speech { kind, text, .. } => speech(*kind, text),
            Self::Call { id, tool, arguments, .. } => call(id, tool, &input(arguments)),
            Self::SearchResult { tool_use_id, content, .. } => json!({
                "type": "web_search_tool_result",
                "tool_use_id": tool_use_id,
                "content": content,
            }),
        }
    }
}

/// Keeps the blocks and writes their events.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    blocks: Vec<Block>,
    /// Index of the open block; later ones are buffered.
    open: usize,
    /// The pages that searches found.
    sources: Vec<SearchResult>,
}

impl BlockWriter {
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn since(&self, start: usize) -> &[Block] {
        &self.blocks[start..]
    }

    pub(super) fn json(&self) -> Vec<Value> {
        self.blocks.iter().map(Block::json).collect()
    }

    /// Adds text to the open block of this kind, or to a new one.
    pub(super) fn speak(&mut self, kind: Speech, fragment: &str, out: &mut BytesMut) {
        if fragment.is_empty() {
            return;
        }
        let open = self.blocks.get(self.open);
        if !matches!(open, Some(Block::Speech { kind: known, .. }) if *known == kind) {
            self.close_all(out);
            self.add(Block::Speech { kind, text: String::new(), citations: Vec::new() }, out);
        }
        if let Some(Block::Speech { text, .. }) = self.blocks.get_mut(self.open) {
            text.push_str(fragment);
            let delta = match kind {
                Speech::Text => Delta::Text { text: fragment },
                Speech::Thinking => Delta::Thinking { thinking: fragment },
            };
            self.delta(delta, out);
        }
    }

    /// Adds to the arguments of the call in block `n`; ignored after its end.
    pub(super) fn arguments(&mut self, n: usize, fragment: &str, out: &mut BytesMut) {
        if n < self.open || fragment.is_empty() {
            return;
        }
        if let Some(Block::Call { arguments, .. }) = self.blocks.get_mut(n) {
            arguments.push_str(fragment);
        }
        if n == self.open {
            self.delta(Delta::Input { partial_json: fragment }, out);
        }
    }

    /// Adds the outcome of a search.
    pub(super) fn search_result(
        &mut self,
        block: Block,
        results: &[SearchResult],
        out: &mut BytesMut,
    ) {
        self.close_all(out);
        self.add(block, out);
        self.close_all(out);
        self.sources.extend_from_slice(results);
    }

    /// Adds a block, which opens when all blocks before it are complete.
    pub(super) fn add(&mut self, block: Block, out: &mut BytesMut) -> usize {
        let n = self.blocks.len();
        self.blocks.push(block);
        if self.open == n {
            self.write_start(out);
        }
        while self.open < n && self.blocks[self.open].is_complete() {
            self.advance(out);
        }
        n
    }

    /// Closes the open block and the buffered ones.
    pub(super) fn close_all(&mut self, out: &mut BytesMut) {
        while self.open < self.blocks.len() {
            self.advance(out);
        }
    }

    /// Closes the open block and opens the next one with its buffered content.
    fn advance(&mut self, out: &mut BytesMut) {
        self.cite(out);
        if let Block::Speech { kind: Speech::Thinking, .. } = &self.blocks[self.open] {
            self.delta(Delta::Signature { signature: "" }, out);
        }
        write(out, "content_block_stop", &json!({ "index": self.open }));
        self.open += 1;
        self.write_start(out);
    }

    fn write_start(&self, out: &mut BytesMut) {
        let Some(block) = self.blocks.get(self.open) else { return };
        let start = json!({ "index": self.open, "content_block": block.start_json() });
        write(out, "content_block_start", &start);
        if let Block::Call { arguments, .. } = block
            && !arguments.is_empty()
        {
            self.delta(Delta::Input { partial_json: arguments }, out);
        }
    }

    /// Cites every page that the open text mentions, once.
    fn cite(&mut self, out: &mut BytesMut) {
        let Some(Block::Speech { kind: Speech::Text, text, citations }) =
            self.blocks.get_mut(self.open)
        else {
            return;
        };
        let mut cited: Vec<usize> =
            web_search::citations(text, &self.sources).into_iter().map(|(_, _, n)| n).collect();
        cited.sort_unstable();
        cited.dedup();
        *citations = cited.into_iter().map(|n| citation(&self.sources[n])).collect();
        for citation in &*citations {
            let delta = Delta::Citation { citation };
            write(out, "content_block_delta", &BlockDelta { index: self.open, delta });
        }
    }

    fn delta(&self, delta: Delta<'_>, out: &mut BytesMut) {
        write(out, "content_block_delta", &BlockDelta { index: self.open, delta });
    }
}

/// Thinking has no signature: only Anthropic can create one, and the field is required.
fn speech(kind: Speech, text: &str) -> Value {
    match kind {
        Speech::Text => json!({ "type": "text", "text": text }),
        Speech::Thinking => json!({ "type": "thinking", "thinking": text, "signature": "" }),
    }
}

fn citation(source: &SearchResult) -> Value {
    let quotation: String = source.content.chars().take(MAX_CITED_CHARS).collect();
    json!({
        "type": "web_search_result_location",
        "url": source.url,
        "title": source.title,
        "cited_text": quotation,
        "encrypted_index": "",
    })
}

fn call(id: &str, tool: &Tool, input: &Value) -> Value {
    let is_search = tool.kind == ToolKind::WebSearch;
    let kind = if is_search { "server_tool_use" } else { "tool_use" };
    json!({ "type": kind, "id": id, "name": tool.name, "input": input })
}

/// The input of a call, which must be an object.
///
/// A model can write invalid or truncated arguments. The text is then passed as `_raw`: the
/// tool refuses it, and the model can correct itself.
fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(input @ Value::Object(_)) => input,
        Ok(Value::Null) => json!({}),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "_raw": arguments }),
    }
}
