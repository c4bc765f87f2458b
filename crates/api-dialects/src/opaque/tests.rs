//! Tests of `opaque`.

use super::*;

#[test]
fn texts_survive_and_foreign_fields_are_recognised() {
    assert_eq!(decode(&encode("Grüße 🐦")).as_deref(), Some("Grüße 🐦"));
    assert_eq!(decode("gAAAAABo"), None);
    assert_eq!(decode("agent.***"), None);
}
