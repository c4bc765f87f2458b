//! Content blocks in the order of the stream, one open at a time.
//!
//! Fragments of parallel calls can interleave in a chat stream, but blocks cannot. The first
//! call is written as it arrives; later ones wait for the previous ones to complete.

use bytes::BytesMut;
use serde_json::{Value, json};

use super::super::super::SearchResult;
use super::super::super::web_search;
use super::super::events::{BlockDelta, Delta, write};
use super::block::Block;

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

    pub(super) fn has_client_call(&self) -> bool {
        self.blocks.iter().any(Block::is_client_call)
    }

    pub(super) fn since(&self, start: usize) -> &[Block] {
        &self.blocks[start..]
    }

    pub(super) fn json(&self) -> Vec<Value> {
        self.blocks.iter().map(Block::json).collect()
    }

    /// Adds text to the open text block, or to a new one.
    pub(super) fn text(&mut self, fragment: &str, out: &mut BytesMut) {
        if fragment.is_empty() {
            return;
        }
        if !matches!(self.blocks.get(self.open), Some(Block::Text { .. })) {
            self.close_all(out);
            self.add(Block::Text { text: String::new(), citations: Vec::new() }, out);
        }
        if let Some(Block::Text { text, .. }) = self.blocks.get_mut(self.open) {
            text.push_str(fragment);
            self.delta(Delta::Text { text: fragment }, out);
        }
    }

    /// Adds to the open thinking block, or to a new one.
    pub(super) fn thinking(&mut self, fragment: &str, out: &mut BytesMut) {
        if fragment.is_empty() {
            return;
        }
        if !matches!(self.blocks.get(self.open), Some(Block::Thinking { .. })) {
            self.close_all(out);
            self.add(Block::Thinking { thinking: String::new() }, out);
        }
        if let Some(Block::Thinking { thinking }) = self.blocks.get_mut(self.open) {
            thinking.push_str(fragment);
            self.delta(Delta::Thinking { thinking: fragment }, out);
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
        if let Block::Thinking { .. } = &self.blocks[self.open] {
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
        let Some(Block::Text { text, citations }) = self.blocks.get_mut(self.open) else { return };
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

fn citation(source: &SearchResult) -> Value {
    json!({
        "type": "web_search_result_location",
        "url": source.url,
        "title": source.title,
        "cited_text": web_search::quotation(source),
        "encrypted_index": "",
    })
}
