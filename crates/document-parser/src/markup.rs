//! What HTML says, without its markup. Tags are looked at one by one, and no tree is made of them:
//! however they are nested, it takes as long as the text is.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// What is said to machines, or on every page of a site.
const SKIPPED: &[&str] = &["script", "style", "noscript", "template", "svg", "nav", "iframe"];
/// What stands within a line.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s",
    "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
];

/// What a document says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its title.
    pub title: String,
    /// Its first heading.
    pub heading: String,
    /// All the rest, the heading too.
    pub text: String,
}

/// Reads a document, or a part of one.
pub fn read(html: &str) -> Said {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    let tokenizer = Tokenizer::new(Listener::default(), TokenizerOpts::default());
    // It stops only for scripts, which are not listened to.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner().said
}

#[derive(Default)]
struct Listener(RefCell<Heard>);

#[derive(Default)]
struct Heard {
    said: Said,
    /// The element that is skipped, and how often it stands in itself.
    skipped: Option<(String, usize)>,
    place: Place,
}

/// Where text belongs.
#[derive(Default, PartialEq, Eq)]
enum Place {
    #[default]
    Text,
    Title,
    Heading,
}

impl TokenSink for Listener {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut heard = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => heard.text(&text),
            Token::TagToken(tag) => return heard.tag(&tag),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Heard {
    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        match self.place {
            Place::Title => self.said.title.push_str(text),
            Place::Heading => {
                self.said.heading.push_str(text);
                self.said.text.push_str(text);
            }
            Place::Text => self.said.text.push_str(text),
        }
    }

    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        let is_start = tag.kind == TagKind::StartTag;
        self.skip(name, is_start && !tag.self_closing, is_start);
        if !INLINE.contains(&name) && self.skipped.is_none() {
            self.said.text.push('\n');
        }
        match (name, is_start) {
            ("title", true) if self.said.title.is_empty() => self.place = Place::Title,
            ("h1", true) if self.said.heading.is_empty() => self.place = Place::Heading,
            ("title" | "h1" | "body", _) => self.place = Place::Text,
            _ => {}
        }
        match (name, is_start) {
            ("title" | "textarea", true) => TokenSinkResult::RawData(RawKind::Rcdata),
            ("script", true) => TokenSinkResult::RawData(RawKind::ScriptData),
            ("style" | "noscript" | "iframe", true) => TokenSinkResult::RawData(RawKind::Rawtext),
            _ => TokenSinkResult::Continue,
        }
    }

    /// Begins or ends an element that is skipped.
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
mod tests {
    use super::*;

    #[test]
    fn texts_are_heard_and_markup_is_not() {
        let said = read(
            "<!doctype html><head><title>A &amp; B</title><style>p > a {}</style></head>\
             <body><nav>menu <nav>inner</nav> more</nav><h1>The <i>head</i></h1><!-- no -->\
             <p>One<p>t<b>w</b>o &lt;3<script>if (a < b) { '</p>' }</script></p><svg/>after",
        );
        assert_eq!((said.title.as_str(), said.heading.as_str()), ("A & B", "The head"));
        let words: Vec<&str> = said.text.split_whitespace().collect();
        assert_eq!(words, ["The", "head", "One", "two", "<3", "after"]);
    }

    #[test]
    fn what_is_never_closed_harms_nothing() {
        assert_eq!(read("<script>alert(1)").text, "");
        assert_eq!(read("1 < 2 and <b").text, "1 < 2 and ");
        assert_eq!(read("").text, "");
        for tag in ["<div>", "<b>", "<table><tr><td>", "<a><p>", "<svg>", "</x>", "<!--", "&#x"] {
            let text = tag.repeat(100_000);
            assert!(read(&text).text.len() <= text.len(), "{tag}");
        }
    }
}
