//! Removes everything from HTML that executes, loads or styles.

use dom_query::NodeRef;
use url::Url;

const KEPT: &[&str] = &[
    "href", "alt", "title", "lang", "dir", "datetime", "colspan", "rowspan", "start", "cite", "id",
];

/// Keeps text, structure and links.
pub(super) fn sanitize(root: &NodeRef<'_>, base: &Url) {
    for node in root.descendants_it().filter(NodeRef::is_element).collect::<Vec<_>>() {
        let href = node.attr("href");
        node.retain_attrs(KEPT);
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
