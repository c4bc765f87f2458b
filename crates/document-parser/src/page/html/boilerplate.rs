//! Takes the decoration out of a page that is no article: menus, banners, notices.

use dom_query::{Matcher, NodeRef};

/// What is decoration wherever it stands.
const DECORATION: &str = "nav, aside, [role=navigation], [role=banner], [role=contentinfo], \
     [role=search], [role=complementary], [role=dialog], [role=alertdialog], [role=menu], \
     [role=menubar], [role=toolbar], [role=tooltip]";
/// Words of classes and ids that decoration is called by.
const WORDS: &[&str] = &[
    "ad",
    "ads",
    "advert",
    "advertisement",
    "banner",
    "breadcrumb",
    "breadcrumbs",
    "consent",
    "cookie",
    "cookies",
    "cookiebar",
    "footer",
    "gdpr",
    "masthead",
    "menu",
    "modal",
    "nav",
    "navbar",
    "navigation",
    "newsletter",
    "pagination",
    "popup",
    "promo",
    "related",
    "share",
    "sharing",
    "sidebar",
    "signup",
    "skip",
    "social",
    "sponsor",
    "sponsored",
    "subscribe",
    "toolbar",
    "topbar",
];
/// The largest share of the text that decoration has, in hundredths.
const MAX_SHARE: usize = 30;

/// Elements whose head and foot are not those of the page.
const PARTS: &[&str] = &["article", "main", "section", "li", "td", "blockquote"];
/// Elements that are content, whatever they are called.
const CONTENT: &[&str] = &[
    "span", "em", "strong", "code", "pre", "body", "main", "article", "h1", "h2", "td", "tr",
    "table",
];
/// Elements that decoration does not have.
const SUBSTANCE: &[&str] = &["pre", "table", "h1", "article", "main"];

/// Takes the decoration out.
pub(super) fn remove(body: &NodeRef<'_>) {
    let Ok(decoration) = Matcher::new(DECORATION) else { return };
    let mut walk = Walk::default();
    let mut open: Vec<(NodeRef<'_>, Seen)> = Vec::new();
    let mut next = body.first_child();
    // Each node is entered and left once: what an element holds is what was seen in between.
    loop {
        if let Some(node) = next {
            open.push((node, walk.seen));
            walk.enter(&node);
            next = node.first_child();
        } else if let Some((node, before)) = open.pop() {
            walk.leave(&node, &before, &decoration);
            next = node.next_sibling();
        } else {
            break;
        }
    }
    let whole = walk.chars_since(&Seen::default()).max(1);
    for (node, chars) in walk.found {
        if chars * 100 <= whole * MAX_SHARE {
            node.remove_from_parent();
        }
    }
}

/// What was seen of a page up to a place.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Texts.
    texts: usize,
    /// Characters, each run of spaces counted once.
    chars: usize,
    ends_with_space: bool,
    /// Characters in links.
    link_chars: usize,
    /// Elements that decoration does not have.
    substance: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Self { texts: 0, chars: 0, ends_with_space: true, link_chars: 0, substance: 0 }
    }
}

#[derive(Default)]
struct Walk<'a> {
    seen: Seen,
    /// Of each text, whether it begins with a space.
    spaces: Vec<bool>,
    /// How many elements are open whose head and foot are not those of the page.
    parts: usize,
    /// What may be decoration, and its length.
    found: Vec<(NodeRef<'a>, usize)>,
}

impl<'a> Walk<'a> {
    fn enter(&mut self, node: &NodeRef<'a>) {
        if node.is_text() {
            let text = node.text();
            self.spaces.push(text.starts_with(char::is_whitespace));
            self.seen.texts += 1;
            for letter in text.chars() {
                let is_space = letter.is_whitespace();
                self.seen.chars += usize::from(!(is_space && self.seen.ends_with_space));
                self.seen.ends_with_space = is_space;
            }
        }
        self.parts += usize::from(is_one_of(node, PARTS));
    }

    fn leave(&mut self, node: &NodeRef<'a>, before: &Seen, decoration: &Matcher) {
        if !node.is_element() {
            return;
        }
        self.parts -= usize::from(is_one_of(node, PARTS));
        let chars = self.chars_since(before);
        // The head or foot of the page, and not that of one of its parts.
        let is_frame = self.parts == 0 && is_one_of(node, &["header", "footer"]);
        if is_frame || node.is_match(decoration) || self.is_called_so(node, before, chars) {
            self.found.push((*node, chars));
        }
        self.seen.substance += usize::from(is_one_of(node, SUBSTANCE));
        if node.has_name("a") {
            self.seen.link_chars += chars;
        }
    }

    /// The characters between a place and here, without spaces around them.
    fn chars_since(&self, before: &Seen) -> usize {
        if before.texts == self.seen.texts {
            return 0;
        }
        let starts_with_space = self.spaces.get(before.texts).is_some_and(|is_space| *is_space);
        let first = usize::from(starts_with_space && !before.ends_with_space);
        let chars = self.seen.chars - before.chars - first;
        chars.saturating_sub(usize::from(self.seen.ends_with_space))
    }

    fn is_called_so(&self, node: &NodeRef<'_>, before: &Seen, chars: usize) -> bool {
        if is_one_of(node, CONTENT) {
            return false;
        }
        let names = [node.class(), node.id_attr()];
        let is_called = names.iter().flatten().any(|name| {
            name.split(|letter: char| !letter.is_ascii_alphanumeric())
                .any(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
        });
        // Something called a menu may be that of a restaurant: decoration leads elsewhere, or is
        // short.
        let link_share = (self.seen.link_chars - before.link_chars) * 100 / chars.max(1);
        is_called && self.seen.substance == before.substance && (link_share >= 50 || chars < 400)
    }
}

fn is_one_of(node: &NodeRef<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| node.has_name(name))
}
