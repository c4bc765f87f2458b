//! Tests of `request_log`.

use super::*;

#[test]
fn logged_paths_are_bounded_printable_and_without_keys() {
    assert_eq!(sanitized_path("/v1/nothing"), "/v1/nothing");
    assert_eq!(sanitized_path("/a\u{202e}b\u{1b}[2J c`d"), "/a?b?[2J?c`d");
    assert_eq!(sanitized_path(&"/x".repeat(10_000)).len(), MAX_PATH_CHARS);
    assert_eq!(sanitized_path("/v1/agk_abc_def/x"), "/v1/agk_…/x");
}
