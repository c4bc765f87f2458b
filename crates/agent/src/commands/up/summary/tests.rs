//! Tests of `try_lines`.

use super::*;

#[test]
fn paths_are_quoted_for_the_shell() {
    for (path, text) in [
        ("/home/a/.env", "/home/a/.env"),
        ("/a b/.env", "'/a b/.env'"),
        ("/it's", "'/it'\\''s'"),
        ("ollama/llama3:8b", "ollama/llama3:8b"),
        ("$(x)", "'$(x)'"),
        ("", "''"),
    ] {
        assert_eq!(quoted(path), text);
    }
}
