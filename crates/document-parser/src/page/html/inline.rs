//! Inline text: words, links, emphasis, code.

use std::collections::HashSet;

use dom_query::NodeRef;
use url::Url;
use wire::web::PageLink;

use crate::page::{MAX_LINK_TEXT, MAX_LINKS, line};

const MAX_HREF: usize = 2048;
/// Texts of links from a heading to itself.
const ANCHORS: &[&str] = &["", "#", "¶", "§", "🔗", "⚓", "Permalink", "permalink"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    Markdown,
    Text,
}

/// Renders inline text and collects its links.
pub(super) struct InlineRenderer<'a> {
    base: &'a Url,
    style: TextStyle,
    links: Vec<PageLink>,
    seen: HashSet<String>,
}

impl<'a> InlineRenderer<'a> {
    pub(super) fn new(base: &'a Url, style: TextStyle) -> Self {
        Self { base, style, links: Vec::new(), seen: HashSet::new() }
    }

    pub(super) fn into_links(self) -> Vec<PageLink> {
        self.links
    }

    fn is_markdown(&self) -> bool {
        self.style == TextStyle::Markdown
    }

    pub(super) fn children(&mut self, node: &NodeRef<'_>) -> String {
        let mut out = String::new();
        self.push_children(node, &mut out);
        out
    }

    fn push_children(&mut self, node: &NodeRef<'_>, out: &mut String) {
        for child in node.children_it(false) {
            self.push(&child, out);
        }
    }

    pub(super) fn push(&mut self, node: &NodeRef<'_>, out: &mut String) {
        if node.is_text() {
            push_words(&node.text(), self.style, out);
            return;
        }
        let Some(name) = node.node_name() else { return };
        match &*name {
            "a" => self.link(node, out),
            "b" | "strong" => self.emphasis(node, "**", out),
            "i" | "em" | "cite" | "dfn" | "var" => self.emphasis(node, "*", out),
            "del" | "s" | "strike" => self.emphasis(node, "~~", out),
            "code" | "kbd" | "samp" | "tt" => self.code(node, out),
            "br" => self.line_break(out),
            "img" => {
                let alt = node.attr("alt").unwrap_or_default();
                push_words(&line(&alt, MAX_LINK_TEXT).unwrap_or_default(), self.style, out);
            }
            "q" => self.between(node, "“", "”", out),
            "rt" => self.between(node, "(", ")", out),
            "rp" | "wbr" => {}
            "sup" => {
                let inner = self.children(node);
                let is_power = inner.chars().all(char::is_alphanumeric) && !inner.is_empty();
                let follows_word = out.ends_with(|letter: char| letter.is_alphanumeric());
                if is_power && follows_word {
                    out.push('^');
                }
                out.push_str(&inner);
            }
            // Blocks within a line are separated by spaces.
            "p" | "div" | "li" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "tr" | "td" | "th"
            | "ul" | "ol" | "pre" | "section" | "header" | "footer" | "figcaption" | "dd"
            | "dt" | "blockquote" | "figure" | "table" => {
                push_space(out);
                self.push_children(node, out);
                push_space(out);
            }
            _ => self.push_children(node, out),
        }
    }

    fn line_break(&self, out: &mut String) {
        let end = out.trim_end_matches(' ').len();
        out.truncate(end);
        if !out.is_empty() {
            out.push_str(if self.is_markdown() { "  \n" } else { "\n" });
        }
    }

    fn between(&mut self, node: &NodeRef<'_>, before: &str, after: &str, out: &mut String) {
        let inner = self.children(node);
        if !inner.trim().is_empty() {
            out.push_str(before);
            out.push_str(inner.trim());
            out.push_str(after);
        }
    }

    /// Encloses a text in marks, with its outer spaces outside.
    fn emphasis(&mut self, node: &NodeRef<'_>, mark: &str, out: &mut String) {
        let inner = self.children(node);
        let trimmed = inner.trim();
        let is_plain = !self.is_markdown() || trimmed.is_empty() || trimmed.contains(mark);
        if is_plain {
            append(out, &inner);
            return;
        }
        push_with_spaces_of(&inner, &format!("{mark}{trimmed}{mark}"), out);
    }

    fn code(&mut self, node: &NodeRef<'_>, out: &mut String) {
        let text: String = node.text().split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        if !self.is_markdown() {
            out.push_str(&text);
            return;
        }
        let fence = "`".repeat(longest_run(&text, '`') + 1);
        let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        out.push_str(&format!("{fence}{pad}{text}{pad}{fence}"));
    }

    fn link(&mut self, node: &NodeRef<'_>, out: &mut String) {
        let inner = self.children(node);
        let text = line(&inner, usize::MAX).unwrap_or_default();
        let href = node.attr("href").unwrap_or_default();
        let is_anchor = href.trim_start().starts_with('#');
        if is_anchor && ANCHORS.contains(&text.as_str()) {
            return;
        }
        let url = if is_anchor { None } else { self.absolute(&href) };
        let Some(url) = url else {
            append(out, &inner);
            return;
        };
        self.add_link(&text, &url);
        if text.is_empty() {
            return;
        }
        let link = match self.style {
            TextStyle::Markdown => format!("[{}]({})", text.replace(']', "\\]"), target(&url)),
            TextStyle::Text => text,
        };
        push_with_spaces_of(&inner, &link, out);
    }

    /// The target of a link to a page.
    fn absolute(&self, href: &str) -> Option<Url> {
        let href = href.trim();
        if href.is_empty() || href.len() > MAX_HREF {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let has_secret = !url.username().is_empty() || url.password().is_some();
        (matches!(url.scheme(), "http" | "https") && !has_secret).then_some(url)
    }

    fn add_link(&mut self, text: &str, url: &Url) {
        if self.links.len() >= MAX_LINKS || text.is_empty() {
            return;
        }
        if self.seen.insert(url.to_string()) {
            // The list of links has no Markdown.
            let text = text.replace(['*', '`', '\\'], "");
            let text = line(&text, MAX_LINK_TEXT).unwrap_or_default();
            self.links.push(PageLink { text, url: url.to_string() });
        }
    }
}

fn target(url: &Url) -> String {
    url.as_str().replace('(', "%28").replace(')', "%29").replace(' ', "%20")
}

/// Appends a text, with spaces around it where the original has them.
fn push_with_spaces_of(original: &str, text: &str, out: &mut String) {
    if original.starts_with(char::is_whitespace) {
        push_space(out);
    }
    out.push_str(text);
    if original.ends_with(char::is_whitespace) {
        push_space(out);
    }
}

fn push_space(out: &mut String) {
    if !out.ends_with([' ', '\n']) {
        out.push(' ');
    }
}

/// Appends text without doubling the space.
fn append(out: &mut String, inner: &str) {
    let inner = if out.is_empty() || out.ends_with([' ', '\n']) {
        inner.trim_start_matches(' ')
    } else {
        inner
    };
    out.push_str(inner);
}

pub(super) fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for letter in text.chars() {
        run = if letter == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Appends words with single spaces, without invisible characters, and with Markdown escaped.
fn push_words(text: &str, style: TextStyle, out: &mut String) {
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            push_space(out);
            continue;
        }
        if is_invisible(letter) {
            continue;
        }
        if style == TextStyle::Markdown {
            let next = letters.peek().copied().unwrap_or(' ');
            let is_mark = match letter {
                '*' | '`' => true,
                '_' => !(out.ends_with(char::is_alphanumeric) && next.is_alphanumeric()),
                '<' => next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'),
                _ => false,
            };
            if is_mark {
                out.push('\\');
            }
        }
        out.push(letter);
    }
}

/// Whether a character is invisible; some can carry hidden text.
fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}
