//! Tests of `end`.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_cause_counts_as_a_legal_ending_and_together_they_are_all_nine() {
    let trouble = MemberError::Broken { reason: "x".to_owned() };
    let all = [
        EndCause::Completed,
        EndCause::Empty,
        EndCause::Filtered,
        EndCause::Denied,
        EndCause::Rounds { limit: 1 },
        EndCause::Budget { limit: 1 },
        EndCause::TimedOut { limit: Duration::from_secs(1) },
        EndCause::Cancelled,
        EndCause::Ended,
        EndCause::Trouble(trouble),
    ];
    let mut reasons = BTreeSet::new();
    for cause in all {
        let TaskEnding { outcome, end_reason, termination } = TaskEnd::of(cause).ending();
        assert!(TaskEnding::is_legal(outcome, end_reason, termination));
        reasons.insert(format!("{end_reason:?}"));
    }
    assert_eq!(reasons.len(), 9, "{reasons:?}");
}
