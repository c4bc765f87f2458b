//! Tests of `editor`.

use super::*;

#[test]
fn commands_are_completed_and_plain_text_is_not() {
    let of = |line: &str| -> Vec<String> {
        let found = Commands { library: None }.complete(line, line.len());
        found.suggestions().iter().map(|one| one.value.clone()).collect()
    };
    assert_eq!(of("/m"), ["/model", "/mcp", "/metrics"]);
    assert_eq!(of("/rel"), ["/reload-mcp"]);
    assert!(of("m").is_empty() && of("/model x").is_empty() && of("").is_empty());
}

#[test]
fn only_continuation_backslashes_are_removed() {
    let joined = ContinuedLines::default();
    let pasted = "make \\\n  all";
    assert!(matches!(joined.validate(&format!("{pasted}\\")), ValidationResult::Incomplete));
    let whole = format!("{pasted}\\\nend");
    assert!(matches!(joined.validate(&whole), ValidationResult::Complete));
    assert_eq!(joined.take(&whole), "make \\\n  all\nend");
    assert_eq!(joined.take("  all\\\nx"), "  all\\\nx", "the next message begins anew");
}
