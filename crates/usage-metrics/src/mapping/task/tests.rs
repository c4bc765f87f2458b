//! Every row of the task table, and the edges between them.

use super::*;

fn texts(ending: TaskEnding) -> (&'static str, &'static str, &'static str) {
    (ending.outcome.text(), ending.end_reason.text(), ending.termination.text())
}

#[test]
fn reason_determines_the_ending() {
    let rows = [
        ("failed", "approval_denied", "none"),
        ("success", "completed", "none"),
        ("failed", "failed", "none"),
        ("failed", "guardrail_blocked", "system_aborted"),
        ("failed", "iteration_limit", "system_aborted"),
        ("failed", "system_aborted", "system_aborted"),
        ("timed_out", "timed_out", "timed_out"),
        ("unknown", "unknown", "unknown"),
        ("cancelled", "user_cancelled", "user_cancelled"),
    ];
    let endings: Vec<_> =
        EndReason::ALL.iter().map(|reason| texts(TaskEnding::of(*reason))).collect();
    assert_eq!(endings, rows);
}

#[test]
fn nine_of_the_225_triples_are_legal() {
    let (mut all, mut legal) = (0, 0);
    for outcome in TaskOutcome::ALL {
        for end_reason in EndReason::ALL {
            for termination in Termination::ALL {
                all += 1;
                legal += u32::from(TaskEnding::is_legal(*outcome, *end_reason, *termination));
            }
        }
    }
    assert_eq!((legal, all), (9, 225));
    for end_reason in EndReason::ALL {
        let ending = TaskEnding::of(*end_reason);
        assert!(TaskEnding::is_legal(ending.outcome, ending.end_reason, ending.termination));
    }
}

#[test]
fn call_without_a_choice_required_no_approval() {
    assert_eq!(call_approval(None), CallApproval::NotRequired);
    for answer in ApprovalOutcome::ALL {
        assert_eq!(call_approval(Some(*answer)).text(), answer.text());
    }
}
