//! Tests of `hold`.

use super::*;

const REASONS: [EndReason; 8] = [
    EndReason::Complete,
    EndReason::ClientLeft,
    EndReason::Cancelled,
    EndReason::StreamLimit,
    EndReason::UpstreamFailed,
    EndReason::RequestRefused,
    EndReason::ServiceFailed,
    EndReason::LeaseOver,
];
const PROGRESS: [AnswerProgress; 3] =
    [AnswerProgress::Nothing, AnswerProgress::Begun, AnswerProgress::Content];

#[test]
fn member_endings_with_content_are_charged() {
    for ending in [EndReason::ClientLeft, EndReason::Cancelled, EndReason::StreamLimit] {
        assert_eq!(
            ending.rule(AnswerProgress::Content).outcome(),
            HoldOutcome::Settled,
            "{ending:?}"
        );
    }
}

#[test]
fn failures_of_upstream_and_service_are_never_charged() {
    let faults = [
        EndReason::UpstreamFailed,
        EndReason::RequestRefused,
        EndReason::ServiceFailed,
        EndReason::LeaseOver,
    ];
    for (ending, reached) in faults.into_iter().flat_map(|e| PROGRESS.map(|r| (e, r))) {
        assert_ne!(ending.rule(reached).outcome(), HoldOutcome::Settled, "{ending:?} {reached:?}");
    }
}

#[test]
fn nothing_is_charged_before_an_answer_begins() {
    for ending in REASONS {
        assert_ne!(
            ending.rule(AnswerProgress::Nothing).outcome(),
            HoldOutcome::Settled,
            "{ending:?}"
        );
    }
}

#[test]
fn every_rule_parses_back() {
    for rule in ChargeRule::ALL {
        assert_eq!(ChargeRule::parse(rule.as_str()), Some(rule));
    }
}
