//! Tests of `config`.

use super::*;

#[test]
fn edits_preserve_comments_and_other_keys() {
    let before = "# mine\nmodel: gpt # the best\nmetrics:\n  # why\n  mode: off\n  retention_days: 7\nmcp_servers: {}\n";
    let after = with_word(before, ["metrics", "mode", "local"]).unwrap();
    assert_eq!(after, before.replace("mode: off", "mode: local"));
}

#[test]
fn a_missing_section_is_added_at_the_end() {
    for (before, after) in [
        ("", "metrics:\n  mode: local\n"),
        ("# only a comment", "# only a comment\nmetrics:\n  mode: local\n"),
        ("model: x", "model: x\nmetrics:\n  mode: local\n"),
        ("metrics:\nmodel: x\n", "model: x\nmetrics:\n  mode: local\n"),
        ("model: x\nmetrics: ~\n", "model: x\nmetrics:\n  mode: local\n"),
    ] {
        assert_eq!(with_word(before, ["metrics", "mode", "local"]).unwrap(), after);
    }
}

#[test]
fn sections_that_cannot_be_edited_safely_are_rejected() {
    for text in ["metrics: 5\n", "- a\n- b\n", "metrics: [a\n"] {
        assert_eq!(with_word(text, ["metrics", "mode", "off"]), None, "{text}");
    }
}
