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

/// Takes the decoration out.
pub(super) fn remove(body: &NodeRef<'_>) {
    let whole = body.normalized_char_count().max(1);
    let Ok(decoration) = Matcher::new(DECORATION) else { return };
    let mut found = Vec::new();
    for node in body.descendants_it().filter(NodeRef::is_element) {
        let is_decoration = node.is_match(&decoration) || is_frame(&node) || is_called_so(&node);
        if is_decoration && node.normalized_char_count() * 100 <= whole * MAX_SHARE {
            found.push(node);
        }
    }
    for node in found {
        node.remove_from_parent();
    }
}

/// The head or foot of the page, and not that of one of its parts.
fn is_frame(node: &NodeRef<'_>) -> bool {
    (node.has_name("header") || node.has_name("footer"))
        && !node.ancestors_it(None).any(|up| {
            ["article", "main", "section", "li", "td", "blockquote"]
                .iter()
                .any(|name| up.has_name(name))
        })
}

fn is_called_so(node: &NodeRef<'_>) -> bool {
    let is_small = [
        "span", "em", "strong", "code", "pre", "body", "main", "article", "h1", "h2", "td", "tr",
        "table",
    ];
    if is_small.iter().any(|name| node.has_name(name)) {
        return false;
    }
    let names = [node.class(), node.id_attr()];
    let is_called = names.iter().flatten().any(|name| {
        name.split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
    });
    // Something called a menu may be that of a restaurant: decoration leads elsewhere, or is short.
    is_called
        && !has_substance(node)
        && (link_share(node) >= 50 || node.normalized_char_count() < 400)
}

/// Whether there is something in it that decoration does not have.
fn has_substance(node: &NodeRef<'_>) -> bool {
    let names = ["pre", "table", "h1", "article", "main"];
    node.descendants_it().any(|inner| names.iter().any(|name| inner.has_name(name)))
}

/// How much of a text is links, in hundredths.
fn link_share(node: &NodeRef<'_>) -> usize {
    let whole = node.normalized_char_count().max(1);
    let links = node.descendants_it().filter(|inner| inner.has_name("a"));
    links.map(|link| link.normalized_char_count()).sum::<usize>() * 100 / whole
}
