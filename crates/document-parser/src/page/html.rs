//! The content of HTML pages: the article, or else everything but boilerplate.

mod block;
mod boilerplate;
mod hidden;
mod inline;
mod metadata;
mod parse;

use dom_query::{Document as Dom, NodeRef};
use dom_smoothie::Readability;
use url::Url;
use wire::web::PageFormat;

use super::{Document, MAX_LINE, formatted, line};
use crate::markup;
use block::BlockRenderer;
use inline::TextStyle;

/// Maximum number of nodes, and maximum sum of their depths, for the article search. The
/// search visits the ancestors of each node repeatedly.
const MAX_ARTICLE_NODES: usize = 60_000;
const MAX_ARTICLE_DEPTHS: usize = 1_000_000;
/// Minimum share of the text in an article, in percent.
const MIN_ARTICLE_SHARE: usize = 60;
/// Minimum share of the text in the main element, in percent.
const MIN_MAIN_SHARE: usize = 40;
/// Pages with less text than this keep their boilerplate.
const MIN_TEXT: usize = 80;

/// Attributes that sanitized HTML keeps.
const KEPT_ATTRIBUTES: &[&str] = &[
    "href", "alt", "title", "lang", "dir", "datetime", "colspan", "rowspan", "start", "cite", "id",
];

pub(super) fn document(text: &str, url: &Url, format: PageFormat) -> Document {
    let dom = match parse::parse(text) {
        Ok(dom) => dom,
        Err(too_complex) => {
            tracing::debug!(
                nodes = too_complex.nodes,
                host = url.host_str(),
                "page too complex; parsed without structure"
            );
            return without_structure(text, format);
        }
    };
    let base = base(&dom, url);
    let mut document = metadata::read(&dom, &base);
    hidden::remove(&dom);
    let (root, byline) = content(dom);
    document.byline = document.byline.or(byline);
    let node = body_of(&root);
    let style = if format == PageFormat::Text { TextStyle::Text } else { TextStyle::Markdown };
    let mut renderer = BlockRenderer::new(&base, style);
    document.content = renderer.render(&node);
    document.links = renderer.into_links();
    if format == PageFormat::Html {
        sanitize(&node, &base);
        node.inner_html().trim().clone_into(&mut document.content);
    }
    document
}

/// Removes everything that executes, loads or styles; keeps text, structure and links.
fn sanitize(root: &NodeRef<'_>, base: &Url) {
    for node in root.descendants_it().filter(NodeRef::is_element).collect::<Vec<_>>() {
        let href = node.attr("href");
        node.retain_attrs(KEPT_ATTRIBUTES);
        if let Some(href) = href {
            let url = base.join(href.trim()).ok();
            let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
            match url {
                Some(url) => node.set_attr("href", url.as_str()),
                None => node.remove_attr("href"),
            }
        }
    }
}

/// The text of a page that is nested too deeply, or takes too long to parse.
fn without_structure(html: &str, format: PageFormat) -> Document {
    let page = markup::extract(html);
    let content = formatted(markup::trim_lines(&page.text), format);
    Document { title: line(&page.title, MAX_LINE), content, ..Document::default() }
}

fn base(dom: &Dom, url: &Url) -> Url {
    let declared = dom.select_single("base[href]").attr("href");
    let base = declared.and_then(|href| url.join(&href).ok());
    base.filter(|base| matches!(base.scheme(), "http" | "https")).unwrap_or_else(|| url.clone())
}

fn content(dom: Dom) -> (Dom, Option<String>) {
    let plain = dom.clone();
    boilerplate::remove(&body_of(&plain));
    let is_searched =
        dom.tree.len() <= MAX_ARTICLE_NODES && parse::depths(&plain).sum <= MAX_ARTICLE_DEPTHS;
    let article = is_searched.then(|| article(&plain)).flatten();
    let length = body_of(&plain).normalized_char_count();
    if length < MIN_TEXT {
        // Little is left: the removed boilerplate is the content, if there is any.
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

/// Whether an article has all code and tables of the page.
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

/// The main element, if it has enough of the text.
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

/// The only outermost element that matches; `None` if there are several. Visits each node once.
fn only_outermost(dom: &Dom, is_wanted: impl Fn(&NodeRef<'_>) -> bool) -> Option<NodeRef<'_>> {
    let mut only = None;
    let mut open = vec![dom.root()];
    while let Some(node) = open.pop() {
        if !is_wanted(&node) {
            open.extend(node.children_it(false));
        } else if only.replace(node).is_some() {
            return None;
        }
    }
    only
}

fn is_one_of(node: &NodeRef<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| node.has_name(name))
}

fn body_of(dom: &Dom) -> NodeRef<'_> {
    dom.body().unwrap_or_else(|| dom.root())
}
