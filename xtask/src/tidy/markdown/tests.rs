//! Tests of `markdown`.

use super::*;

#[test]
fn links_of_every_form_are_found_outside_code() {
    let text = "\
See [a](one.md), ![p](<two x.png>) and [b `code`](three.md#x \"title\").
Not `[c](code.md)`, [^1] nor [d].

[d]: four.md
[^1]: A note.
```md
[e](five.md)
```
";
    let targets: Vec<(usize, String)> = Document::parse(text).links;
    let expected = [(1, "one.md"), (1, "two x.png"), (1, "three.md#x"), (4, "four.md")];
    assert_eq!(targets, expected.map(|(line, target)| (line, target.to_owned())));
}

#[test]
fn code_spans_have_any_number_of_backticks() {
    let document = Document::parse("`one` ``two ` ticks`` and a lone ` tick\n");
    assert_eq!(document.spans, [(1, "one"), (1, "two ` ticks")]);
}

#[test]
fn fences_have_a_language_and_end_at_their_marker() {
    let text = "````sh,copy\na\n```\nb\n````\n~~~\nc\n~~~\n";
    let document = Document::parse(text);
    let blocks: Vec<(&str, &[(usize, &str)])> = document
        .fences
        .iter()
        .map(|fence| (fence.language.as_str(), fence.lines.as_slice()))
        .collect();
    assert_eq!(blocks, [("sh", &[(2, "a"), (3, "```"), (4, "b")][..]), ("", &[(7, "c")][..])]);
}

#[test]
fn headings_in_code_blocks_are_ignored() {
    let document = Document::parse("# One\n```sh\n# comment\n```\n## [Two](x.md)\n#three\n");
    let headings: Vec<(usize, &str)> =
        document.headings.iter().map(|heading| (heading.level, heading.text)).collect();
    assert_eq!(headings, [(1, "One"), (2, "[Two](x.md)")]);
}

#[test]
fn anchors_match_github() {
    let text = "# `agent up`: start, now!\n## Same\n## Same\n## [Linked](x.md) a_b-c\n## Größe\n";
    assert_eq!(
        Document::parse(text).anchors(),
        ["agent-up-start-now", "same", "same-1", "linked-a_b-c", "größe"]
    );
}
