//! Removes invisible parts of a page: scripts, styles, and text hidden from people that would
//! reach a model.

use dom_query::{Document as Dom, NodeRef};

const WITHOUT_TEXT: &str = "script, style, template, noscript, iframe, object, embed, canvas, svg, \
     audio, video, map, frameset, input, select, textarea, button, datalist, progress, meter, \
     link, meta, title, dialog:not([open])";
#[rustfmt::skip] // a table of words
const HIDDEN_CLASSES: &[&str] = &[
    "hidden", "sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "d-none",
    "is-hidden", "offscreen", "hide-text", "u-hidden", "invisible", "screen-reader-only",
    "screenreader-only", "element-invisible", "a11y-hidden",
];

/// Maximum number of kept checkboxes.
const MAX_CHECKBOXES: usize = 1000;

pub(super) fn remove(dom: &Dom) {
    keep_checkboxes(dom);
    dom.select(WITHOUT_TEXT).remove();
    let root = dom.root();
    let mut hidden = Vec::new();
    for node in root.descendants_it() {
        if node.is_comment() || (node.is_element() && is_hidden(&node)) {
            hidden.push(node);
        }
    }
    for node in hidden {
        node.remove_from_parent();
    }
}

fn keep_checkboxes(dom: &Dom) {
    let boxes = dom.select("input[type=checkbox]");
    let is_in_list =
        |input: &&NodeRef<'_>| input.ancestors_it(None).any(|above| above.has_name("li"));
    for input in boxes.nodes().iter().take(MAX_CHECKBOXES).filter(is_in_list) {
        let mark = if input.has_attr("checked") { "[x] " } else { "[ ] " };
        let text = dom.tree.new_text(mark);
        input.insert_before(&text);
    }
}

fn is_hidden(node: &NodeRef<'_>) -> bool {
    // Many pages hide everything until their scripts have run.
    if node.has_name("html") || node.has_name("body") {
        return false;
    }
    let is = |name: &str, value: &str| {
        node.attr(name).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
    };
    let hides_itself = node.has_attr("hidden") && !is("hidden", "until-found");
    hides_itself
        || is("aria-hidden", "true")
        || node.attr("style").is_some_and(|style| is_hiding(&style))
        || node.class().is_some_and(|class| {
            class.split_whitespace().any(|word| HIDDEN_CLASSES.contains(&word))
        })
}

fn is_hiding(style: &str) -> bool {
    let style = style.to_ascii_lowercase();
    let mut is_absolute = false;
    let mut is_far = false;
    for declaration in style.split(';') {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        let value = value.replace("!important", "");
        let (name, value) = (name.trim(), value.trim());
        let hides = match name {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "opacity" | "font-size" => number(value).is_some_and(|number| number <= 0.01),
            "max-height" | "max-width" | "height" | "width" => {
                number(value).is_some_and(|number| number <= 0.0) || value == "1px"
            }
            "color" => value == "transparent" || is_transparent(value),
            "text-indent" => number(value).is_some_and(|number| number <= -900.0),
            "clip" => value.starts_with("rect(0") || value.starts_with("rect(1px"),
            "clip-path" => value.starts_with("inset(50%") || value.starts_with("inset(100%"),
            "transform" => value.starts_with("scale(0"),
            _ => false,
        };
        if hides {
            return true;
        }
        is_absolute |= name == "position" && matches!(value, "absolute" | "fixed");
        is_far |= matches!(name, "left" | "top" | "right" | "margin-left" | "bottom")
            && number(value).is_some_and(|number| number <= -900.0);
    }
    is_absolute && is_far
}

/// The leading number of a value.
fn number(value: &str) -> Option<f64> {
    let end = value.find(|letter: char| !letter.is_ascii_digit() && !"+-.".contains(letter));
    value.get(..end.unwrap_or(value.len()))?.parse().ok()
}

fn is_transparent(value: &str) -> bool {
    let inner = value.strip_prefix("rgba(").and_then(|rest| rest.strip_suffix(')'));
    let last = inner.and_then(|inner| inner.rsplit([',', '/']).next());
    last.and_then(|alpha| alpha.trim().parse::<f64>().ok()).is_some_and(|alpha| alpha <= 0.01)
}

#[cfg(test)]
mod tests;
