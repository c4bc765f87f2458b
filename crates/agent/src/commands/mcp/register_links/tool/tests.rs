//! Tests of `tool`.

use super::*;

#[test]
fn a_tool_is_judged_by_how_it_ends() {
    assert_eq!(tool("true", &[]), Outcome::Done);
    assert_eq!(tool("false", &[]), Outcome::Failed);
    assert_eq!(tool("/no/such/tool", &[]), Outcome::Absent);
}

#[test]
fn an_answer_is_the_first_line_of_a_tool_that_succeeds() {
    assert_eq!(answer("echo", &["a.desktop"]).as_deref(), Some("a.desktop"));
    assert_eq!(answer("true", &[]), None);
    assert_eq!(answer("sh", &["-c", "echo x; exit 1"]), None);
    assert_eq!(answer("/no/such/tool", &[]), None);
}
