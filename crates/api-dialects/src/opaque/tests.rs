//! Tests of `opaque`.

use super::*;

#[test]
fn encoded_texts_round_trip_and_foreign_ones_are_detected() {
    assert_eq!(decode(&encode("Grüße 🐦")).as_deref(), Some("Grüße 🐦"));
    assert_eq!(decode("gAAAAABo"), None);
    assert_eq!(decode("agent.***"), None);
}
