//! Tests of `links`.

use super::*;
use crate::tidy::finding::printed;

fn findings(text: &str) -> Vec<String> {
    let tree = Tree::of(&[
        ("docs/page.md", text),
        ("docs/other.md", "# A heading\n"),
        ("README.md", "# Read me\n"),
    ]);
    printed(&check(&tree))
}

#[test]
fn valid_links_have_no_findings() {
    let text = "\
# Here
[a](other.md) [b](./other.md#a-heading) [c](../README.md#read-me) [d](#here) [e](/README.md)
[f](../docs/) [g](https://example.org/x#y) [h](mailto:a@example.org) [i](..)
";
    assert_eq!(findings(text), Vec::<String>::new());
}

#[test]
fn broken_links_are_found() {
    let text = "[a](gone.md)\n[b](other.md#gone)\n[c](#gone)\n[d](../../outside.md)\n";
    assert_eq!(
        findings(text),
        [
            "docs/page.md:1: link `gone.md`: there is no docs/gone.md",
            "docs/page.md:2: link `other.md#gone`: docs/other.md has no heading with the \
                 anchor `gone`",
            "docs/page.md:3: link `#gone`: docs/page.md has no heading with the anchor `gone`",
            "docs/page.md:4: link `../../outside.md` leads out of the repository",
        ]
    );
}
