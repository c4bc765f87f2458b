//! Trusted markup, and escaping of all other text.

use std::fmt;

use askama::filters::HtmlSafe;

/// Markup from this crate: templates print it unescaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Html(pub(crate) String);

impl Html {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Html {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl HtmlSafe for Html {}

/// Escapes text for elements and quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

/// A state in a table: `kind` is `good`, `warn`, `bad` or `plain`.
pub fn tag(kind: &'static str, text: &str) -> Html {
    Html(format!("<span class=\"tag {kind}\">{}</span>", escape(text)))
}
