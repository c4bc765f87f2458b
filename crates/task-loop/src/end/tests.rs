//! Tests of `end`.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_cause_maps_to_one_of_the_nine_endings() {
    let trouble = MemberError::Broken { reason: "x".to_owned() };
    let all = [
        TaskEnd::Completed,
        TaskEnd::Empty,
        TaskEnd::Filtered,
        TaskEnd::Denied,
        TaskEnd::Rounds { limit: 1 },
        TaskEnd::Budget { limit: 1 },
        TaskEnd::TimedOut { limit: Duration::from_secs(1) },
        TaskEnd::Cancelled,
        TaskEnd::Ended,
        TaskEnd::Trouble(trouble),
    ];
    let mut reasons = BTreeSet::new();
    for cause in all {
        let TaskEnding { outcome, end_reason, termination } = cause.ending();
        assert!(TaskEnding::is_legal(outcome, end_reason, termination));
        reasons.insert(format!("{end_reason:?}"));
    }
    assert_eq!(reasons.len(), 9, "{reasons:?}");
}
