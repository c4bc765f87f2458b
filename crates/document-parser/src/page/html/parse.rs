//! Builds the tree of a page within limits.

use std::time::{Duration, Instant};

use dom_query::Document as Dom;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};

/// Bytes between checks of the limits, and the time limit.
const PIECE_BYTES: usize = 1024;
const MAX_PARSE: Duration = Duration::from_secs(2);
/// Maximum nesting depth, and maximum nodes.
const MAX_DEPTH: usize = 400;
const MAX_NODES: usize = 300_000;
/// Maximum new nodes per piece. Unclosed formatting elements are reopened in every paragraph,
/// so that a few bytes can create thousands of nodes.
const MAX_GROWTH: usize = 2000;

/// The page exceeds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooComplex {
    pub(super) nodes: usize,
}

pub(super) fn parse(text: &str) -> Result<Dom, TooComplex> {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
        ..ParseOpts::default()
    };
    let mut parser = parse_document(Dom::default(), options);
    let begun = Instant::now();
    let (mut rest, mut nodes) = (text, 0);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES.min(rest.len())));
        rest = after;
        parser.process(StrTendril::from(piece));
        let dom = &parser.tokenizer.sink.sink;
        let count = dom.tree.len();
        let is_too_complex = count > MAX_NODES
            || count - nodes > MAX_GROWTH
            || begun.elapsed() > MAX_PARSE
            || is_open_deep(dom);
        if is_too_complex {
            return Err(TooComplex { nodes: count });
        }
        nodes = count;
    }
    let dom = parser.finish();
    let nodes = dom.tree.len();
    if nodes > MAX_NODES || depths(&dom).deepest > MAX_DEPTH {
        Err(TooComplex { nodes })
    } else {
        Ok(dom)
    }
}

/// Whether the open elements are nested too deeply. They are the last children, or precede a table that
/// is.
fn is_open_deep(dom: &Dom) -> bool {
    let mut paths = vec![(dom.root(), 0)];
    let mut steps = 0;
    while let Some((node, depth)) = paths.pop() {
        steps += 1;
        if depth > MAX_DEPTH || steps > MAX_DEPTH * 8 {
            return true;
        }
        let Some(last) = node.last_child() else { continue };
        let before = last.prev_sibling().filter(|_| last.has_name("table"));
        paths.extend(before.map(|before| (before, depth + 1)));
        paths.push((last, depth + 1));
    }
    false
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NestingDepths {
    pub(super) deepest: usize,
    /// The sum over all nodes.
    pub(super) sum: usize,
}

pub(super) fn depths(dom: &Dom) -> NestingDepths {
    let mut depths = NestingDepths { deepest: 0, sum: 0 };
    let mut open: Vec<_> = dom.root().children_it(false).map(|node| (node, 0)).collect();
    while let Some((node, depth)) = open.pop() {
        depths.deepest = depths.deepest.max(depth);
        depths.sum += depth;
        open.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    depths
}

#[cfg(test)]
mod tests;
