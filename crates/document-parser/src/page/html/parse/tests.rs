//! Tests of `parse`.

use super::*;

#[test]
fn the_nesting_limit_is_exact() {
    // `html`, `body` and the text count too.
    let nested = |count: usize| parse(&("<div>".repeat(count) + "x"));
    assert!(nested(MAX_DEPTH - 3).is_ok());
    assert!(nested(MAX_DEPTH - 2).is_err());
    assert!(parse(&"<p>a</p>".repeat(1000)).is_ok());
}

#[test]
fn multiplying_formatting_elements_are_stopped_early() {
    let marks = |from: usize, to: usize| -> String {
        (from..to).fold(String::new(), |text, number| text + &format!("<b a={number}>"))
    };
    let paragraphs = "<p>x".repeat(100_000);
    let mut hidden = String::new();
    for number in 0..2000 {
        let piece = format!("<p>{}</p>", marks(number * 60, number * 60 + 60));
        hidden.push_str(&format!("{piece:<1020}<!---->"));
    }
    for (name, html) in [
        ("nested", marks(0, 50_000) + &paragraphs),
        ("few", format!("<p>{}</p>{paragraphs}", marks(0, 380))),
        ("before a table", format!("<table>{}{paragraphs}", marks(0, 50_000))),
        ("before tables", format!("{}{paragraphs}", format!("<table>{}", marks(0, 50)).repeat(99))),
        ("behind comments", hidden + &paragraphs),
    ] {
        // Parsed or not, it never has more nodes than a large page.
        let nodes = parse(&html).map_or_else(|too_complex| too_complex.nodes, |dom| dom.tree.len());
        assert!(nodes < 2 * MAX_NODES, "{name}: {nodes}");
    }
}
