//! The text of HTML without its markup. It reads tokens and builds no tree, so that the time is linear
//! however tags are nested.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Elements that are skipped: scripts, and navigation of the site.
const SKIPPED: &[&str] = &["script", "style", "noscript", "template", "svg", "nav", "iframe"];
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s",
    "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
];

#[derive(Debug, Default, PartialEq, Eq)]
pub struct MarkupText {
    pub title: String,
    /// The first heading.
    pub heading: String,
    /// The text, including the heading.
    pub text: String,
}

pub fn extract(html: &str) -> MarkupText {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    let tokenizer = Tokenizer::new(TextSink::default(), TokenizerOpts::default());
    // The tokenizer stops only for scripts, which the sink ignores.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner().text
}

pub(crate) fn trim_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[derive(Default)]
struct TextSink(RefCell<SinkState>);

#[derive(Default)]
struct SinkState {
    text: MarkupText,
    skipped: Option<(String, usize)>,
    target: TextTarget,
}

#[derive(Default, PartialEq, Eq)]
enum TextTarget {
    #[default]
    Text,
    Title,
    Heading,
}

impl TokenSink for TextSink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => state.add_text(&text),
            Token::TagToken(tag) => return state.handle_tag(&tag),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl SinkState {
    fn add_text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        match self.target {
            TextTarget::Title => self.text.title.push_str(text),
            TextTarget::Heading => {
                self.text.heading.push_str(text);
                self.text.text.push_str(text);
            }
            TextTarget::Text => self.text.text.push_str(text),
        }
    }

    fn handle_tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        let is_start = tag.kind == TagKind::StartTag;
        self.skip(name, is_start && !tag.self_closing, is_start);
        if !INLINE.contains(&name) && self.skipped.is_none() {
            self.text.text.push('\n');
        }
        match (name, is_start) {
            ("title", true) if self.text.title.is_empty() => self.target = TextTarget::Title,
            ("h1", true) if self.text.heading.is_empty() => self.target = TextTarget::Heading,
            ("title" | "h1" | "body", _) => self.target = TextTarget::Text,
            _ => {}
        }
        match (name, is_start) {
            ("title" | "textarea", true) => TokenSinkResult::RawData(RawKind::Rcdata),
            ("script", true) => TokenSinkResult::RawData(RawKind::ScriptData),
            ("style" | "noscript" | "iframe", true) => TokenSinkResult::RawData(RawKind::Rawtext),
            _ => TokenSinkResult::Continue,
        }
    }

    fn skip(&mut self, name: &str, opens: bool, is_start: bool) {
        match &mut self.skipped {
            None if opens && SKIPPED.contains(&name) => self.skipped = Some((name.to_owned(), 1)),
            Some((skipped, depth)) if skipped == name => {
                *depth =
                    if opens { *depth + 1 } else { depth.saturating_sub(usize::from(!is_start)) };
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
