//! Tests of `markup`.

use super::*;

#[test]
fn markup_is_removed() {
    let content = extract(
        "<!doctype html><head><title>A &amp; B</title><style>p > a {}</style></head>\
             <body><nav>menu <nav>inner</nav> more</nav><h1>The <i>head</i></h1><!-- no -->\
             <p>One<p>t<b>w</b>o &lt;3<script>if (a < b) { '</p>' }</script></p><svg/>after",
    );
    assert_eq!((content.title.as_str(), content.heading.as_str()), ("A & B", "The head"));
    let words: Vec<&str> = content.text.split_whitespace().collect();
    assert_eq!(words, ["The", "head", "One", "two", "<3", "after"]);
}

#[test]
fn unclosed_elements_are_harmless() {
    assert_eq!(extract("<script>alert(1)").text, "");
    assert_eq!(extract("1 < 2 and <b").text, "1 < 2 and ");
    assert_eq!(extract("").text, "");
    for tag in ["<div>", "<b>", "<table><tr><td>", "<a><p>", "<svg>", "</x>", "<!--", "&#x"] {
        let text = tag.repeat(100_000);
        assert!(extract(&text).text.len() <= text.len(), "{tag}");
    }
}
