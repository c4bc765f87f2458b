//! Pages that are nested too deep, or take too long to parse: their text without any structure.

use wire::web::PageFormat;

use crate::page::{Document, MAX_LINE, escaped, line};

/// The text between the tags of a page.
pub(super) fn document(html: &str, format: PageFormat) -> Document {
    let mut content = String::new();
    let mut title = None;
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push(&mut content, rest.get(..at).unwrap_or_default());
        let tag = rest.get(at + 1..).unwrap_or_default();
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let end = if tag.starts_with("!--") { "-->" } else { ">" };
        let Some(close) = tag.find(end) else { break };
        rest = tag.get(close + end.len()..).unwrap_or_default();
        if ["script", "style", "template", "noscript", "title", "svg"].contains(&name.as_str()) {
            let (inside, after) = until_end(rest, &name);
            if name == "title" && title.is_none() {
                title = line(&unescaped(inside), MAX_LINE);
            }
            rest = after;
        }
        if !["a", "b", "i", "em", "strong", "span", "code", "font"].contains(&name.as_str())
            && !content.ends_with('\n')
        {
            content.push('\n');
        }
    }
    if !rest.contains('<') {
        push(&mut content, rest);
    }
    let lines = content.lines().filter_map(|text| line(text, usize::MAX)).collect::<Vec<_>>();
    let mut content = lines.join("\n");
    if format == PageFormat::Html {
        content = format!("<pre>{}</pre>", escaped(&content));
    }
    Document { title, content, ..Document::default() }
}

fn push(out: &mut String, text: &str) {
    out.push_str(&unescaped(text));
}

/// What stands before the end of an element, and what behind it.
fn until_end<'a>(text: &'a str, name: &str) -> (&'a str, &'a str) {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("</")) {
        let begin = from + at;
        let is_it = text
            .get(begin + 2..begin + 2 + name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name));
        if is_it {
            return (text.get(..begin).unwrap_or_default(), text.get(begin..).unwrap_or_default());
        }
        from = begin + 2;
    }
    (text, "")
}

fn unescaped(text: &str) -> String {
    let pairs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
