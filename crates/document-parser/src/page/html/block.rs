//! Renders blocks of a page as Markdown or plain text.
//!
//! htmd renders Markdown only; this renderer also writes plain text, unwraps layout tables, drops line
//! numbers of code, collects links and limits indentation.

mod table;

use std::collections::HashSet;

use dom_query::{NodeId, NodeRef};
use url::Url;
use wire::web::PageLink;

use super::inline::{InlineRenderer, TextStyle, longest_run};
use super::is_one_of;

/// Maximum indentation of lists and quotations.
const MAX_INDENT: usize = 12;
#[rustfmt::skip] // a table of words
const BLOCKS: &[&str] = &[
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p",
    "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
];

pub(super) struct BlockRenderer<'a> {
    pub(super) inline: InlineRenderer<'a>,
    pub(super) style: TextStyle,
    indent: usize,
    /// Blocks and elements that contain one.
    with_blocks: HashSet<NodeId>,
    /// Elements that contain a table.
    pub(super) with_tables: HashSet<NodeId>,
}

impl<'a> BlockRenderer<'a> {
    pub(super) fn new(base: &'a Url, style: TextStyle) -> Self {
        Self {
            inline: InlineRenderer::new(base, style),
            style,
            indent: 0,
            with_blocks: HashSet::new(),
            with_tables: HashSet::new(),
        }
    }

    pub(super) fn into_links(self) -> Vec<PageLink> {
        self.inline.into_links()
    }

    pub(super) fn render(&mut self, node: &NodeRef<'_>) -> String {
        for inner in node.descendants_it().filter(is_block) {
            mark(&mut self.with_blocks, Some(inner));
            if inner.has_name("table") {
                mark(&mut self.with_tables, inner.parent());
            }
        }
        self.blocks(node).join("\n\n")
    }

    /// Whether an element is or contains a block.
    fn has_blocks(&self, node: &NodeRef<'_>) -> bool {
        self.with_blocks.contains(&node.id)
    }

    pub(super) fn is_markdown(&self) -> bool {
        self.style == TextStyle::Markdown
    }

    pub(super) fn blocks(&mut self, node: &NodeRef<'_>) -> Vec<String> {
        let mut blocks = Vec::new();
        let mut paragraph = String::new();
        for child in node.children_it(false) {
            if !self.has_blocks(&child) {
                self.inline.push(&child, &mut paragraph);
                continue;
            }
            self.flush(&mut paragraph, &mut blocks);
            let name = child.node_name().unwrap_or_default();
            self.block(&child, &name, &mut blocks);
        }
        self.flush(&mut paragraph, &mut blocks);
        blocks
    }

    fn flush(&self, paragraph: &mut String, blocks: &mut Vec<String>) {
        let text = std::mem::take(paragraph);
        let text = text.trim();
        if !text.is_empty() {
            blocks.push(if self.is_markdown() { escape_start(text) } else { text.to_owned() });
        }
    }

    fn block(&mut self, node: &NodeRef<'_>, name: &str, blocks: &mut Vec<String>) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                // A heading that was never closed contains the blocks after it.
                let (first, rest) = if node.children_it(false).any(|child| self.has_blocks(&child))
                {
                    let mut inner = self.blocks(node).into_iter();
                    (inner.next().unwrap_or_default(), inner.collect())
                } else {
                    (self.inline.children(node), Vec::new())
                };
                let text = first.replace("  \n", " ").replace('\n', " ");
                let level = name.as_bytes().get(1).map_or(1, |digit| usize::from(digit - b'0'));
                let marks =
                    if self.is_markdown() { "#".repeat(level) + " " } else { String::new() };
                push(blocks, text.trim(), |text| format!("{marks}{text}"));
                blocks.extend(rest);
            }
            "ul" | "ol" | "menu" | "dir" => {
                push(blocks, &self.list(node, name == "ol"), str::to_owned);
            }
            "pre" => push(blocks, &self.code(node), str::to_owned),
            "blockquote" => {
                let inner = self.indented(node).join("\n\n");
                if self.is_markdown() && self.indent < MAX_INDENT {
                    push(blocks, &inner, |text| prefixed(text, "> "));
                } else {
                    push(blocks, &inner, str::to_owned);
                }
            }
            "hr" => {
                if self.is_markdown() {
                    blocks.push("---".to_owned());
                }
            }
            "table" => push(blocks, &table::render(self, node), str::to_owned),
            "dt" => {
                let text = self.inline.children(node);
                let marks = if self.is_markdown() && !text.contains("**") { "**" } else { "" };
                push(blocks, text.trim(), |text| format!("{marks}{text}{marks}"));
            }
            "dd" => {
                let inner = self.indented(node).join("\n\n");
                self.push_with_marker(blocks, &inner, ": ");
            }
            "summary" | "legend" => {
                let text = self.inline.children(node);
                push(blocks, text.trim(), str::to_owned);
            }
            // A link around simple blocks is one link.
            "a" if !has_structure(node) => {
                let mut line = String::new();
                self.inline.push(node, &mut line);
                push(blocks, line.trim(), str::to_owned);
            }
            // An item without a list.
            "li" => {
                let inner = self.indented(node).join("\n");
                self.push_with_marker(blocks, &inner, "- ");
            }
            _ => blocks.extend(self.blocks(node)),
        }
    }

    /// Adds a block after a marker, unless the indentation limit is reached.
    fn push_with_marker(&self, blocks: &mut Vec<String>, text: &str, marker: &str) {
        let is_at_limit = self.indent >= MAX_INDENT;
        push(
            blocks,
            text,
            |text| if is_at_limit { text.to_owned() } else { with_marker(text, marker) },
        );
    }

    fn indented(&mut self, node: &NodeRef<'_>) -> Vec<String> {
        self.indent += 1;
        let blocks = self.blocks(node);
        self.indent -= 1;
        blocks
    }

    fn list(&mut self, node: &NodeRef<'_>, is_ordered: bool) -> String {
        let start = node.attr("start").and_then(|start| start.trim().parse().ok());
        let mut number: i64 = start.unwrap_or(1);
        let mut items: Vec<String> = Vec::new();
        let mut is_loose = false;
        for child in node.children_it(false) {
            let name = child.node_name().unwrap_or_default();
            if !child.is_element() {
                continue;
            }
            if &*name != "li" {
                // A nested list belongs to the item before it.
                let mut inner = Vec::new();
                self.indent += 1;
                self.block(&child, &name, &mut inner);
                self.indent -= 1;
                let inner = inner.join("\n");
                if !inner.is_empty() {
                    items.push(if self.indent < MAX_INDENT {
                        prefixed(&inner, "  ")
                    } else {
                        inner
                    });
                }
                continue;
            }
            if let Some(value) = child.attr("value").and_then(|value| value.trim().parse().ok()) {
                number = value;
            }
            let marker = if is_ordered { format!("{number}. ") } else { "- ".to_owned() };
            number = number.saturating_add(1);
            let blocks = self.indented(&child);
            if blocks.is_empty() {
                continue;
            }
            let is_simple = blocks.iter().skip(1).all(|block| is_list(block));
            is_loose |= !is_simple;
            let text = blocks.join(if is_simple { "\n" } else { "\n\n" });
            items.push(if self.indent < MAX_INDENT { with_marker(&text, &marker) } else { text });
        }
        items.join(if is_loose { "\n\n" } else { "\n" })
    }

    pub(super) fn code(&mut self, node: &NodeRef<'_>) -> String {
        let text = raw(node);
        let text = text.trim_matches('\n').trim_end();
        if text.trim().is_empty() {
            return String::new();
        }
        if !self.is_markdown() {
            return text.to_owned();
        }
        let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
        format!("{fence}{}\n{text}\n{fence}", language(node).unwrap_or_default())
    }
}

fn is_block(node: &NodeRef<'_>) -> bool {
    node.node_name().is_some_and(|name| BLOCKS.contains(&&*name))
}

/// Marks a node and its ancestors. Ancestors of a marked node are marked already.
fn mark(marked: &mut HashSet<NodeId>, mut node: Option<NodeRef<'_>>) {
    while let Some(next) = node.filter(|node| marked.insert(node.id)) {
        node = next.parent();
    }
}

/// Whether an element contains more than paragraphs.
fn has_structure(node: &NodeRef<'_>) -> bool {
    let names = ["ul", "ol", "table", "pre", "dl", "blockquote"];
    node.descendants_it().any(|inner| is_one_of(&inner, &names))
}

/// The text of code without line numbers.
fn raw(node: &NodeRef<'_>) -> String {
    let mut out = String::new();
    push_raw(node, &mut out);
    out.replace("\r\n", "\n").replace('\u{a0}', " ")
}

fn push_raw(node: &NodeRef<'_>, out: &mut String) {
    for child in node.children_it(false) {
        if child.is_text() {
            out.push_str(&child.text());
        } else if child.has_name("br") {
            out.push('\n');
        } else if !is_line_number(&child) {
            let is_line = is_one_of(&child, &["div", "p", "tr"]);
            if is_line && !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            push_raw(&child, out);
            if is_line && !out.ends_with('\n') {
                out.push('\n');
            }
        }
    }
}

pub(super) fn is_line_number(node: &NodeRef<'_>) -> bool {
    node.class().is_some_and(|class| {
        class.split_whitespace().any(|word| {
            [
                "lineno", "linenos", "line-number", "line-numbers-rows", "gutter", "rouge-gutter",
                "ln", "linenodiv",
            ]
            .contains(&word)
        })
    })
}

fn language(node: &NodeRef<'_>) -> Option<String> {
    let inner = node.children_it(false).find(|child| child.has_name("code"));
    let around = node.ancestors_it(Some(2));
    let nodes = inner.into_iter().chain([*node]).chain(around);
    nodes.into_iter().find_map(|node| {
        let attribute = node.attr("data-lang").or_else(|| node.attr("data-language"));
        let class = node.class().unwrap_or_default();
        let by_class = || {
            class.split_whitespace().find_map(|word| {
                ["language-", "lang-", "highlight-source-", "highlight-", "brush:"]
                    .iter()
                    .find_map(|prefix| word.strip_prefix(prefix))
                    .map(str::to_owned)
            })
        };
        let name = attribute.map(|name| name.to_string()).or_else(by_class)?;
        let name = name.trim().trim_end_matches(';').to_ascii_lowercase();
        let is_name = (1..=20).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-#_.".contains(&byte))
            && !["none", "plaintext", "text", "default", "wrapper"].contains(&name.as_str());
        is_name.then_some(name)
    })
}

fn push(blocks: &mut Vec<String>, text: &str, format: impl FnOnce(&str) -> String) {
    if !text.trim().is_empty() {
        blocks.push(format(text));
    }
}

fn prefixed(text: &str, prefix: &str) -> String {
    let lines = text.lines().map(|line| format!("{prefix}{line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Adds a marker to the first line and indents the others by its width.
fn with_marker(text: &str, marker: &str) -> String {
    let pad = " ".repeat(marker.chars().count());
    let mut lines = text.lines();
    let mut out = format!("{marker}{}", lines.next().unwrap_or_default());
    for line in lines {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(&pad);
            out.push_str(line);
        }
    }
    out
}

/// Whether a block is a list, which needs no empty line before it.
fn is_list(block: &str) -> bool {
    let digits = block.trim_start_matches(|letter: char| letter.is_ascii_digit());
    block.starts_with("- ") || (digits.len() < block.len() && digits.starts_with(". "))
}

fn escape_start(text: &str) -> String {
    let is_block = text.starts_with(['#', '>'])
        || text.starts_with("- ")
        || text.starts_with("+ ")
        || text.starts_with("---")
        || text.starts_with("===");
    let digits = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if is_block {
        return format!("\\{text}");
    }
    if digits.len() < text.len() && digits.starts_with(". ") {
        let number = text.get(..text.len() - digits.len()).unwrap_or_default();
        return format!("{number}\\{digits}");
    }
    text.to_owned()
}
