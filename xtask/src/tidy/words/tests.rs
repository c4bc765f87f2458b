//! Tests of `words`.

use super::*;

#[test]
fn phrases_are_found_where_people_read() {
    let findings = |path: &str, text: &str| check(&Tree::of(&[(path, text)])).len();
    assert_eq!(findings("docs/a.md", "Fine.\nIt Goes on, whoever asks.\n"), 2);
    assert_eq!(findings("crates/x/src/a.rs", "/// The user is told.\n"), 1);
    assert_eq!(findings("crates/x/tests/it/a.rs", "whoever\n"), 0);
    assert_eq!(findings("docs/a.png", "whoever\n"), 0);
}
