//! Tests of `search`.

use super::*;

#[test]
fn control_characters_in_results_are_escaped() {
    let result = SearchResult {
        title: "a\u{1b}[2J title of seven words in all".to_owned(),
        url: "https://x.example/\u{7}\n2. fake".to_owned(),
        snippet: "one two three four five\u{9b}31m".to_owned(),
        published_at: Some("2026-01-01\n".to_owned()),
        score: None,
        source: "x.example".to_owned(),
    };
    let text = anstream::adapter::strip_str(&text(&[result], Some(24))).to_string();
    insta::assert_snapshot!(text, @r"
    1. a\u{1b}[2J title of
       seven words in all
       https://x.example/\u{7} 2. fake
       one two three four
       five\u{9b}31m
       published 2026-01-01\n
    ");
}
