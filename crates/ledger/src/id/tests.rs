//! Tests of `id`.

use super::*;

#[test]
fn hold_ids_parse_back_and_sort_by_time() {
    let early = HoldId::new(1_000, u128::MAX);
    let late = HoldId::new(1_001, 0);
    assert!(early < late && early.to_bytes() < late.to_bytes());
    assert_eq!(HoldId::parse(&late.to_string()), Some(late));
    assert_eq!(HoldId::from_bytes(late.to_bytes()), late);
}

#[test]
fn only_exact_member_ids_parse() {
    assert_eq!(MemberId::parse("mem_12"), Some(MemberId(12)));
    for wrong in ["", "12", "mem_", "mem_0", "mem_-1", "mem_+1", "mem_01", "mem_1 "] {
        assert_eq!(MemberId::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn malformed_hold_ids_are_rejected() {
    let good = HoldId::new(1, 2).to_string();
    for text in ["", "req_", "req_+f", &good[4..], &good.to_uppercase(), &format!("{good}0")] {
        assert_eq!(HoldId::parse(text), None, "{text}");
    }
}
