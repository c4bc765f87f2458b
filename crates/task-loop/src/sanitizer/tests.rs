//! Tests of `sanitizer`.

use super::*;
use serde_json::json;

fn shown() -> Sanitizer {
    Sanitizer::new(Arc::new(Redactor::default()))
}

#[test]
fn control_characters_are_escaped() {
    let nasty = "a\x1b[31mb\r\nc\td\u{9b}2J\n";
    assert_eq!(shown().line(nasty), "a\\u{1b}[31mb\\r\\nc\\td\\u{9b}2J\\n");
    assert_eq!(shown().first_line(nasty), "a\\u{1b}[31mb");
    assert_eq!(shown().whole(nasty), "a\\u{1b}[31mb\\r\nc\td\\u{9b}2J\n");
    assert_eq!(shown().whole("rm \u{202e}txt"), "rm \\u{202e}txt");
    assert_eq!(shown().lines(nasty, "  "), "a\\u{1b}[31mb\n  c\td\\u{9b}2J");
}

#[test]
fn a_tail_is_limited_to_the_last_lines() {
    let long: Vec<String> = (0..50).map(|line| format!("line {line}")).collect();
    let tail = shown().tail(&long.join("\n"));
    assert_eq!(tail.len(), MAX_TAIL_LINES);
    assert_eq!(tail.last().unwrap(), "line 49");
    assert_eq!(shown().tail(&"x".repeat(9000))[0].len(), MAX_LINE_CHARS);
    assert!(shown().tail("").is_empty());
}

#[test]
fn json_keeps_its_structure() {
    let value = json!({"a": ["x", 1, null, {"b": true}]});
    assert_eq!(shown().json(value.clone()), value);
}
