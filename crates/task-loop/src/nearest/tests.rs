//! Tests of `nearest`.

use super::*;

#[test]
fn only_similar_names_are_suggested() {
    let known = ["github", "files", "docs"];
    assert_eq!(nearest("gihtub", known), Some("github"));
    assert_eq!(nearest("dcos", known), Some("docs"));
    assert_eq!(nearest("Files", known), Some("files"));
    assert_eq!(nearest("zzz", known), None);
}
