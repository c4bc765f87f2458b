//! Paragraphs, headings, lists, quotations and code, as Markdown or as plain text.

mod table;

use std::collections::HashSet;

use dom_query::{NodeId, NodeRef};
use url::Url;
use wire::web::PageLink;

use super::inline::{Inline, Style, longest_run};

/// The deepest that lists and quotations are moved to the right.
const MAX_INDENT: usize = 12;
/// Elements that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "html",
    "legend",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Makes text of a part of a page.
pub(super) struct Renderer<'a> {
    pub(super) inline: Inline<'a>,
    pub(super) style: Style,
    indent: usize,
    /// Elements that stand on lines of their own, and those that have one in them.
    with_blocks: HashSet<NodeId>,
    /// Elements with a table in them.
    with_tables: HashSet<NodeId>,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(base: &'a Url, style: Style) -> Self {
        Self {
            inline: Inline::new(base, style),
            style,
            indent: 0,
            with_blocks: HashSet::new(),
            with_tables: HashSet::new(),
        }
    }

    pub(super) fn into_links(self) -> Vec<PageLink> {
        self.inline.into_links()
    }

    /// The text of a node.
    pub(super) fn render(&mut self, node: &NodeRef<'_>) -> String {
        for inner in node.descendants_it().filter(is_block) {
            mark(&mut self.with_blocks, Some(inner));
            if inner.has_name("table") {
                mark(&mut self.with_tables, inner.parent());
            }
        }
        self.blocks(node).join("\n\n")
    }

    /// Whether an element stands on lines of its own, or something in it does.
    fn has_blocks(&self, node: &NodeRef<'_>) -> bool {
        self.with_blocks.contains(&node.id)
    }

    /// Whether there is a table in an element.
    pub(super) fn has_tables(&self, node: &NodeRef<'_>) -> bool {
        self.with_tables.contains(&node.id)
    }

    pub(super) fn is_markdown(&self) -> bool {
        self.style == Style::Markdown
    }

    /// The blocks of a node, one after the other.
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
            blocks.push(if self.is_markdown() { guarded(text) } else { text.to_owned() });
        }
    }

    fn block(&mut self, node: &NodeRef<'_>, name: &str, blocks: &mut Vec<String>) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                // A heading that was never closed holds what was meant to come after it.
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
                self.push_hung(blocks, &inner, ": ");
            }
            "summary" | "legend" => {
                let text = self.inline.children(node);
                push(blocks, text.trim(), str::to_owned);
            }
            // A link around blocks is one link.
            "a" if !has_structure(node) => {
                let mut line = String::new();
                self.inline.push(node, &mut line);
                push(blocks, line.trim(), str::to_owned);
            }
            // A lone item is one of a list that its author forgot.
            "li" => {
                let inner = self.indented(node).join("\n");
                self.push_hung(blocks, &inner, "- ");
            }
            _ => blocks.extend(self.blocks(node)),
        }
    }

    /// A block behind a marker, unless it is too far to the right already.
    fn push_hung(&self, blocks: &mut Vec<String>, text: &str, marker: &str) {
        let is_far = self.indent >= MAX_INDENT;
        push(blocks, text, |text| if is_far { text.to_owned() } else { hung(text, marker) });
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
                // Lists in lists belong to the item before them, though it was closed.
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
            items.push(if self.indent < MAX_INDENT { hung(&text, &marker) } else { text });
        }
        items.join(if is_loose { "\n\n" } else { "\n" })
    }

    /// Code as it was written.
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

/// Whether an element stands on lines of its own.
fn is_block(node: &NodeRef<'_>) -> bool {
    node.node_name().is_some_and(|name| BLOCKS.contains(&&*name))
}

/// Marks a node and all that it is in; what is marked already has everything above it marked.
fn mark(marked: &mut HashSet<NodeId>, mut node: Option<NodeRef<'_>>) {
    while let Some(next) = node.filter(|node| marked.insert(node.id)) {
        node = next.parent();
    }
}

/// Whether there is more in an element than a few lines.
fn has_structure(node: &NodeRef<'_>) -> bool {
    let names = ["ul", "ol", "table", "pre", "dl", "blockquote"];
    node.descendants_it().any(|inner| names.iter().any(|name| inner.has_name(name)))
}

/// The text of code, with its lines and without the numbers of them.
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
            let is_line = child.has_name("div") || child.has_name("p") || child.has_name("tr");
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

/// Whether an element numbers the lines of code.
pub(super) fn is_line_number(node: &NodeRef<'_>) -> bool {
    node.class().is_some_and(|class| {
        class.split_whitespace().any(|word| {
            [
                "lineno",
                "linenos",
                "line-number",
                "line-numbers-rows",
                "gutter",
                "rouge-gutter",
                "ln",
                "linenodiv",
            ]
            .contains(&word)
        })
    })
}

/// The language of code, where its classes tell.
fn language(node: &NodeRef<'_>) -> Option<String> {
    let inner = node.children_it(false).find(|child| child.has_name("code"));
    let around = node.ancestors_it(Some(2));
    let nodes = inner.into_iter().chain([*node]).chain(around);
    nodes.into_iter().find_map(|node| {
        let told = node.attr("data-lang").or_else(|| node.attr("data-language"));
        let class = node.class().unwrap_or_default();
        let by_class = || {
            class.split_whitespace().find_map(|word| {
                ["language-", "lang-", "highlight-source-", "highlight-", "brush:"]
                    .iter()
                    .find_map(|prefix| word.strip_prefix(prefix))
                    .map(str::to_owned)
            })
        };
        let name = told.map(|told| told.to_string()).or_else(by_class)?;
        let name = name.trim().trim_end_matches(';').to_ascii_lowercase();
        let is_name = (1..=20).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-#_.".contains(&byte))
            && !["none", "plaintext", "text", "default", "wrapper"].contains(&name.as_str());
        is_name.then_some(name)
    })
}

fn push(blocks: &mut Vec<String>, text: &str, dress: impl FnOnce(&str) -> String) {
    if !text.trim().is_empty() {
        blocks.push(dress(text));
    }
}

/// Every line with something before it.
fn prefixed(text: &str, prefix: &str) -> String {
    let lines = text.lines().map(|line| format!("{prefix}{line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first line with a marker, the others moved by its width.
fn hung(text: &str, marker: &str) -> String {
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

/// A paragraph whose beginning is not taken for a mark.
fn guarded(text: &str) -> String {
    let is_mark = text.starts_with(['#', '>'])
        || text.starts_with("- ")
        || text.starts_with("+ ")
        || text.starts_with("---")
        || text.starts_with("===");
    let digits = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if is_mark {
        return format!("\\{text}");
    }
    if digits.len() < text.len() && digits.starts_with(". ") {
        let number = text.get(..text.len() - digits.len()).unwrap_or_default();
        return format!("{number}\\{digits}");
    }
    text.to_owned()
}
