//! Tests of `words`.

use super::*;

#[test]
fn reasoning_is_removed() {
    assert_eq!(without_thoughts("<think>hm [9]</think>\nyes <think>no"), "yes");
    assert_eq!(without_thoughts("so it is</think> blue"), "blue");
    assert_eq!(without_thoughts("blue"), "blue");
}

#[test]
fn lists_of_every_style_are_parsed() {
    let said = "Here you are:\n1. \"one\"\n2) two\n- three\n* four\n(5) five\n```\n\n--\nsix";
    let read: Vec<(&str, bool)> = lines(said).map(|line| (line.text, line.is_item)).collect();
    let expected = [
        ("Here you are:", false),
        ("one", true),
        ("two", true),
        ("three", true),
        ("four", true),
        ("five", true),
        ("six", false),
    ];
    assert_eq!(read, expected);
}

#[test]
fn json_strings_are_extracted_from_text() {
    assert_eq!(json_texts("Sure! [\"a\", {\"q\": \"b\"}] Bye"), ["a", "b"]);
    assert_eq!(json_texts("{\"queries\": [\"a\"], \"n\": 5}"), ["a"]);
    assert_eq!(json_texts("[\"a\", \"b\""), Vec::<String>::new());
}

#[test]
fn truncation_keeps_whole_characters() {
    assert_eq!((head("añb", 2), head("añb", 3), head("añb", 9)), ("a", "añ", "añb"));
    assert_eq!(key_words("What is the GDP of Peru, please?"), ["gdp", "peru"]);
}
