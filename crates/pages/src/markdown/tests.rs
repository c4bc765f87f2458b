//! Tests of `markdown`.

use super::*;

#[test]
fn common_markdown_elements_are_rendered() {
    let html =
        markdown("# A\n\n*b* **c** `d<`\n\n- e\n\n[f](https://g.example/?a=1&b=2)").to_string();
    assert!(html.contains("<h3>A</h3>") && html.contains("<em>b</em> <strong>c</strong>"));
    assert!(html.contains("<code>d&lt;</code>") && html.contains("<ul><li>e</li></ul>"));
    assert!(html.contains("href=\"https://g.example/?a=1&amp;b=2\""), "{html}");
}

#[test]
fn unsafe_markdown_is_removed() {
    let attack = "<script>alert(1)</script>\n\n[x](javascript:alert(1)) [y](<JaVaScRiPt:a>) \
                  ![i](https://e.example/a.png) <img src=x onerror=alert(1)> \
                  [z](https://a.example/\"onclick=\"b)";
    let html = markdown(attack).to_string();
    for bad in ["<script", "javascript:", "JaVaScRiPt:", "<img", "\"onclick"] {
        assert!(!html.contains(bad), "{bad}: {html}");
    }
    assert!(markdown(&"ä".repeat(MAX_BYTES)).to_string().len() < 2 * MAX_BYTES);
}
