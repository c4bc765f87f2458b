//! Removes boilerplate from pages that are no articles: menus, banners, notices.

use dom_query::{Matcher, NodeRef};

use super::is_one_of;

const BOILERPLATE: &str = "nav, aside, [role=navigation], [role=banner], [role=contentinfo], \
     [role=search], [role=complementary], [role=dialog], [role=alertdialog], [role=menu], \
     [role=menubar], [role=toolbar], [role=tooltip]";
/// Words in classes and ids of boilerplate.
#[rustfmt::skip] // a table of words
const WORDS: &[&str] = &[
    "ad", "ads", "advert", "advertisement", "banner", "breadcrumb", "breadcrumbs", "consent",
    "cookie", "cookies", "cookiebar", "footer", "gdpr", "masthead", "menu", "modal", "nav",
    "navbar", "navigation", "newsletter", "pagination", "popup", "promo", "related", "share",
    "sharing", "sidebar", "signup", "skip", "social", "sponsor", "sponsored", "subscribe",
    "toolbar", "topbar",
];
/// Maximum share of the text in one boilerplate element, in percent.
const MAX_SHARE: usize = 30;

/// Elements whose headers and footers are not those of the page.
const SECTIONS: &[&str] = &["article", "main", "section", "li", "td", "blockquote"];
/// Elements that are content, whatever their class.
const CONTENT: &[&str] = &[
    "span", "em", "strong", "code", "pre", "body", "main", "article", "h1", "h2", "td", "tr",
    "table",
];
/// Elements that boilerplate does not contain.
const SUBSTANCE: &[&str] = &["pre", "table", "h1", "article", "main"];

pub(super) fn remove(body: &NodeRef<'_>) {
    let Ok(boilerplate) = Matcher::new(BOILERPLATE) else { return };
    let mut walk = PageWalk::default();
    let mut open: Vec<(NodeRef<'_>, TextCounts)> = Vec::new();
    let mut next = body.first_child();
    // Each node is entered and left once; the difference of the counts is its content.
    loop {
        if let Some(node) = next {
            open.push((node, walk.counts));
            walk.enter(&node);
            next = node.first_child();
        } else if let Some((node, before)) = open.pop() {
            walk.leave(&node, &before, &boilerplate);
            next = node.next_sibling();
        } else {
            break;
        }
    }
    let whole = walk.chars_since(&TextCounts::default()).max(1);
    for (node, chars) in walk.found {
        if chars * 100 <= whole * MAX_SHARE {
            node.remove_from_parent();
        }
    }
}

/// Counts of a page up to a node.
#[derive(Debug, Clone, Copy)]
struct TextCounts {
    texts: usize,
    /// Characters, with each run of spaces counted once.
    chars: usize,
    ends_with_space: bool,
    link_chars: usize,
    substance: usize,
}

impl Default for TextCounts {
    fn default() -> Self {
        Self { texts: 0, chars: 0, ends_with_space: true, link_chars: 0, substance: 0 }
    }
}

#[derive(Default)]
struct PageWalk<'a> {
    counts: TextCounts,
    /// Whether each text starts with a space.
    spaces: Vec<bool>,
    /// The number of open [`SECTIONS`].
    sections: usize,
    /// Candidates and their lengths.
    found: Vec<(NodeRef<'a>, usize)>,
}

impl<'a> PageWalk<'a> {
    fn enter(&mut self, node: &NodeRef<'a>) {
        if node.is_text() {
            let text = node.text();
            self.spaces.push(text.starts_with(char::is_whitespace));
            self.counts.texts += 1;
            for letter in text.chars() {
                let is_space = letter.is_whitespace();
                self.counts.chars += usize::from(!(is_space && self.counts.ends_with_space));
                self.counts.ends_with_space = is_space;
            }
        }
        self.sections += usize::from(is_one_of(node, SECTIONS));
    }

    fn leave(&mut self, node: &NodeRef<'a>, before: &TextCounts, boilerplate: &Matcher) {
        if !node.is_element() {
            return;
        }
        self.sections -= usize::from(is_one_of(node, SECTIONS));
        let chars = self.chars_since(before);
        let is_page_frame = self.sections == 0 && is_one_of(node, &["header", "footer"]);
        if is_page_frame
            || node.is_match(boilerplate)
            || self.has_boilerplate_name(node, before, chars)
        {
            self.found.push((*node, chars));
        }
        self.counts.substance += usize::from(is_one_of(node, SUBSTANCE));
        if node.has_name("a") {
            self.counts.link_chars += chars;
        }
    }

    /// The characters since a position, without surrounding spaces.
    fn chars_since(&self, before: &TextCounts) -> usize {
        if before.texts == self.counts.texts {
            return 0;
        }
        let starts_with_space = self.spaces.get(before.texts).is_some_and(|is_space| *is_space);
        let first = usize::from(starts_with_space && !before.ends_with_space);
        let chars = self.counts.chars - before.chars - first;
        chars.saturating_sub(usize::from(self.counts.ends_with_space))
    }

    fn has_boilerplate_name(&self, node: &NodeRef<'_>, before: &TextCounts, chars: usize) -> bool {
        if is_one_of(node, CONTENT) {
            return false;
        }
        let names = [node.class(), node.id_attr()];
        let is_named = names.iter().flatten().any(|name| {
            name.split(|letter: char| !letter.is_ascii_alphanumeric())
                .any(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
        });
        // A menu may be a restaurant's: boilerplate consists of links, or is short.
        let link_share = (self.counts.link_chars - before.link_chars) * 100 / chars.max(1);
        is_named && self.counts.substance == before.substance && (link_share >= 50 || chars < 400)
    }
}
