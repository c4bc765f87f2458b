//! What an HTML page says: its article where it is one, else everything that is not decoration.

mod block;
mod boilerplate;
mod crude;
mod hidden;
mod inline;
mod metadata;
mod parse;
mod tidy;

use dom_query::{Document as Dom, NodeRef};
use dom_smoothie::Readability;
use url::Url;
use wire::web::PageFormat;

use super::Document;
use block::Renderer;
use inline::Style;

/// The most nodes of a page that is searched for an article, and the most levels that they are deep
/// together: the search looks at what each node is in, again and again.
const MAX_ARTICLE_NODES: usize = 60_000;
const MAX_ARTICLE_DEPTHS: usize = 1_000_000;
/// The share of the text that an article must have, in hundredths.
const MIN_ARTICLE_SHARE: usize = 60;
/// The share of the text that the part called main must have.
const MIN_MAIN_SHARE: usize = 40;
/// With less text than this, decoration is taken for content.
const MIN_TEXT: usize = 80;

/// What a page says.
pub(super) fn document(text: &str, url: &Url, format: PageFormat) -> Document {
    let dom = match parse::parse(text) {
        Ok(dom) => dom,
        Err(monster) => {
            tracing::debug!(
                nodes = monster.nodes,
                host = url.host_str(),
                "a page is read without its structure"
            );
            return crude::document(text, format);
        }
    };
    let base = base(&dom, url);
    let mut document = metadata::of(&dom, &base);
    hidden::remove(&dom);
    let (root, byline) = content(dom);
    document.byline = document.byline.or(byline);
    let node = body_of(&root);
    let style = if format == PageFormat::Text { Style::Text } else { Style::Markdown };
    let mut renderer = Renderer::new(&base, style);
    document.content = renderer.render(&node);
    document.links = renderer.into_links();
    if format == PageFormat::Html {
        tidy::tidy(&node, &base);
        node.inner_html().trim().clone_into(&mut document.content);
    }
    document
}

/// What relative addresses of a page are relative to.
fn base(dom: &Dom, url: &Url) -> Url {
    let written = dom.select_single("base[href]").attr("href");
    let base = written.and_then(|href| url.join(&href).ok());
    base.filter(|base| matches!(base.scheme(), "http" | "https")).unwrap_or_else(|| url.clone())
}

/// The part of a page that is worth reading, and who wrote it.
fn content(dom: Dom) -> (Dom, Option<String>) {
    let plain = dom.clone();
    boilerplate::remove(&body_of(&plain));
    let is_searched =
        dom.tree.len() <= MAX_ARTICLE_NODES && parse::depths(&plain).sum <= MAX_ARTICLE_DEPTHS;
    let article = is_searched.then(|| article(&plain)).flatten();
    let length = body_of(&plain).normalized_char_count();
    if length < MIN_TEXT {
        // Little is left: what was taken away is the page, unless that is just as little.
        let all = body_of(&dom).normalized_char_count();
        return (if all > length { dom } else { plain }, None);
    }
    let (main, length) = main_part(plain, length);
    match article {
        Some((article, byline)) => {
            let found = body_of(&article).normalized_char_count();
            let is_enough = found * 100 >= length * MIN_ARTICLE_SHARE;
            (if is_enough && keeps_structure(&article, &main) { article } else { main }, byline)
        }
        None => (main, None),
    }
}

/// Whether an article has the code and the tables that the page has.
fn keeps_structure(article: &Dom, main: &Dom) -> bool {
    ["pre", "table", "dl"].iter().all(|name| {
        let (found, there) = (article.select(name).length(), main.select(name).length());
        found >= there
    })
}

fn article(dom: &Dom) -> Option<(Dom, Option<String>)> {
    let config = dom_smoothie::Config { keep_classes: true, ..dom_smoothie::Config::default() };
    let mut readability = Readability::with_document(dom.clone(), None, Some(config)).ok()?;
    let article = readability.parse().ok()?;
    Some((Dom::from(article.content), article.byline))
}

/// The part that the page itself calls its main one, if it has enough of the text.
fn main_part(dom: Dom, length: usize) -> (Dom, usize) {
    let is_main =
        |node: &NodeRef<'_>| node.has_name("main") || node.attr("role").as_deref() == Some("main");
    let is_article = |node: &NodeRef<'_>| node.has_name("article");
    let kinds: [&dyn Fn(&NodeRef<'_>) -> bool; 2] = [&is_main, &is_article];
    for is_wanted in kinds {
        let Some(only) = only_outermost(&dom, is_wanted) else { continue };
        let count = only.normalized_char_count();
        if count * 100 >= length * MIN_MAIN_SHARE {
            let part = Dom::from(only.html());
            return (part, count);
        }
    }
    (dom, length)
}

/// The one element of a kind that is in no other element of that kind; nothing if there are
/// several. Each node is looked at once: pages may have many of them, nested deeply.
fn only_outermost(dom: &Dom, is_wanted: impl Fn(&NodeRef<'_>) -> bool) -> Option<NodeRef<'_>> {
    let mut only = None;
    let mut next = dom.root().first_child();
    while let Some(node) = next {
        let is_found = is_wanted(&node);
        if is_found && only.replace(node).is_some() {
            return None;
        }
        let inside = if is_found { None } else { node.first_child() };
        next = inside.or_else(|| following(node));
    }
    only
}

/// The node after a node and all that is in it.
fn following(mut node: NodeRef<'_>) -> Option<NodeRef<'_>> {
    loop {
        if let Some(next) = node.next_sibling() {
            return Some(next);
        }
        node = node.parent()?;
    }
}

/// The body of a page, or all of it.
fn body_of(dom: &Dom) -> NodeRef<'_> {
    dom.body().unwrap_or_else(|| dom.root())
}
