//! Renders Markdown of models by an allow-list: no raw HTML, no images, only web links.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::{Html, escape};

/// Maximum length; the rest is cut.
const MAX_BYTES: usize = 1024 * 1024;

/// Renders untrusted Markdown.
pub fn markdown(text: &str) -> Html {
    let end = text.floor_char_boundary(MAX_BYTES);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut out = String::with_capacity(end + end / 4);
    for event in Parser::new_ext(text.get(..end).unwrap_or_default(), options) {
        match event {
            Event::Start(tag) => start(&mut out, &tag),
            Event::End(tag) => finish(&mut out, tag),
            Event::Code(code) => out.push_str(&format!("<code>{}</code>", escape(&code))),
            Event::SoftBreak => out.push('\n'),
            Event::HardBreak => out.push_str("<br>"),
            Event::Rule => out.push_str("<hr>"),
            // Raw HTML is shown as text.
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => out.push_str(&escape(&text)),
            Event::TaskListMarker(done) => out.push_str(if done { "[x] " } else { "[ ] " }),
        }
    }
    Html(out)
}

/// The element of a block or span; empty if it has none.
fn element(tag: TagEnd) -> &'static str {
    match tag {
        TagEnd::Paragraph => "p",
        // The page itself uses the first two levels.
        TagEnd::Heading(HeadingLevel::H1) => "h3",
        TagEnd::Heading(HeadingLevel::H2) => "h4",
        TagEnd::Heading(_) => "h5",
        TagEnd::BlockQuote(_) => "blockquote",
        TagEnd::List(true) => "ol",
        TagEnd::List(false) => "ul",
        TagEnd::Item => "li",
        TagEnd::Emphasis => "em",
        TagEnd::Strong => "strong",
        TagEnd::Strikethrough => "s",
        TagEnd::Table => "table",
        TagEnd::TableRow | TagEnd::TableHead => "tr",
        TagEnd::TableCell => "td",
        _ => "",
    }
}

fn start(out: &mut String, tag: &Tag<'_>) {
    match tag {
        Tag::CodeBlock(_) => out.push_str("<pre tabindex=\"0\"><code>"),
        Tag::Link { dest_url, .. } if is_web(dest_url) => out.push_str(&format!(
            "<a href=\"{}\" rel=\"noreferrer noopener nofollow\">",
            escape(dest_url)
        )),
        Tag::Link { .. } => out.push_str("<a>"),
        tag => {
            let element = element(tag.to_end());
            if !element.is_empty() {
                out.push_str(&format!("<{element}>"));
            }
        }
    }
}

fn finish(out: &mut String, tag: TagEnd) {
    match tag {
        TagEnd::CodeBlock => out.push_str("</code></pre>"),
        TagEnd::Link => out.push_str("</a>"),
        tag => {
            let element = element(tag);
            if !element.is_empty() {
                out.push_str(&format!("</{element}>"));
            }
        }
    }
}

fn is_web(address: &str) -> bool {
    let scheme = address.get(..8).unwrap_or(address).to_ascii_lowercase();
    scheme.starts_with("http://") || scheme.starts_with("https://")
}

#[cfg(test)]
mod tests;
