//! Tests of `mcp`.

use super::*;

#[test]
fn process_output_is_shown_with_the_error() {
    let shown = Sanitizer::new(Arc::new(Redactor::default()));
    let exit = mcp_client::error::ProcessExit::Status(3);
    let (stderr, noise) = ("one\ntwo\n".to_owned(), Some("hello".to_owned()));
    let output = mcp_client::error::ServerOutput { stderr, noise };
    let error = mcp_client::Error::Exited { exit, output };
    let (summary, lines) = error_lines(&shown, &error);
    assert_eq!(summary, "the server exited with status 3");
    assert_eq!(
        lines,
        [
            "standard error: one",
            "standard error: two",
            "standard output contained text that is not a message: hello"
        ]
    );
}
