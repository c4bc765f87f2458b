//! Tests of `register_links`.

use super::*;

#[test]
fn exit_status_determines_the_tool_outcome() {
    assert_eq!(tool("true", &[]), Outcome::Done);
    assert_eq!(tool("false", &[]), Outcome::Failed);
    assert_eq!(tool("/no/such/tool", &[]), Outcome::Absent);
}

#[test]
fn output_is_the_first_line_of_a_successful_tool() {
    assert_eq!(answer("echo", &["a.desktop"]).as_deref(), Some("a.desktop"));
    assert_eq!(answer("true", &[]), None);
    assert_eq!(answer("sh", &["-c", "echo x; exit 1"]), None);
    assert_eq!(answer("/no/such/tool", &[]), None);
}
