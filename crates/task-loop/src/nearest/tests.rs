//! Tests of `nearest`.

use super::*;

#[test]
fn the_nearest_name_is_suggested_unless_none_is_near() {
    let known = ["github", "files", "docs"];
    assert_eq!(nearest("gihtub", known), Some("github"));
    assert_eq!(nearest("dcos", known), Some("docs"));
    assert_eq!(nearest("Files", known), Some("files"));
    assert_eq!(nearest("zzz", known), None);
}
