//! Every row of the task tables, and the edges between them.

use super::*;

#[test]
fn listed_surfaces_map_to_themselves() {
    for expected in ExecutionSurface::ALL {
        assert_eq!(surface(Some(expected.text()), None), *expected);
        assert_eq!(surface(None, Some(expected.text())), *expected);
    }
}

#[test]
fn surfaces_have_aliases() {
    let rows = [
        ("api_server", ExecutionSurface::Api),
        ("cron", ExecutionSurface::ScheduledTask),
        ("scheduler", ExecutionSurface::ScheduledTask),
        ("scheduled", ExecutionSurface::ScheduledTask),
        ("discord", ExecutionSurface::Gateway),
        ("email", ExecutionSurface::Gateway),
        ("slack", ExecutionSurface::Gateway),
        ("telegram", ExecutionSurface::Gateway),
        ("teams", ExecutionSurface::Gateway),
        ("whatsapp", ExecutionSurface::Gateway),
        (" Telegram ", ExecutionSurface::Gateway),
        ("toaster", ExecutionSurface::Other),
        ("slackish", ExecutionSurface::Other),
    ];
    for (name, expected) in rows {
        assert_eq!(surface(Some(name), None), expected, "{name}");
        assert_eq!(surface(None, Some(name)), expected, "{name}");
    }
}

#[test]
fn every_messaging_platform_is_a_gateway() {
    assert!(MESSAGING_PLATFORMS.is_sorted());
    for platform in MESSAGING_PLATFORMS {
        assert_eq!(surface(None, Some(platform)), ExecutionSurface::Gateway, "{platform}");
    }
}

#[test]
fn declared_surface_precedes_the_platform() {
    assert_eq!(surface(Some("tui"), Some("slack")), ExecutionSurface::Tui);
    assert_eq!(surface(Some("toaster"), Some("slack")), ExecutionSurface::Other);
    assert_eq!(surface(Some(" "), Some("slack")), ExecutionSurface::Gateway);
    assert_eq!(surface(None, None), ExecutionSurface::Unknown);
    assert_eq!(surface(Some(""), Some("")), ExecutionSurface::Unknown);
}

#[test]
fn listed_declared_entrypoint_takes_precedence() {
    for expected in Entrypoint::ALL {
        let declared = Some(expected.text());
        assert_eq!(entrypoint(declared, TaskParent::Present, ExecutionSurface::Cli), *expected);
    }
    assert_eq!(
        entrypoint(Some(" Background "), TaskParent::Absent, ExecutionSurface::Cli),
        Entrypoint::Background
    );
}

#[test]
fn task_with_a_parent_is_delegated() {
    for surface in ExecutionSurface::ALL {
        for declared in [None, Some(""), Some("magic")] {
            assert_eq!(entrypoint(declared, TaskParent::Present, *surface), Entrypoint::Delegated);
        }
    }
}

#[test]
fn surface_determines_the_entrypoint() {
    let rows = [
        (ExecutionSurface::Cli, Entrypoint::Interactive),
        (ExecutionSurface::Desktop, Entrypoint::Interactive),
        (ExecutionSurface::Tui, Entrypoint::Interactive),
        (ExecutionSurface::Gateway, Entrypoint::GatewayMessage),
        (ExecutionSurface::Api, Entrypoint::Api),
        (ExecutionSurface::Batch, Entrypoint::Batch),
        (ExecutionSurface::Python, Entrypoint::Python),
        (ExecutionSurface::ScheduledTask, Entrypoint::ScheduledTask),
        (ExecutionSurface::Unknown, Entrypoint::Unknown),
        (ExecutionSurface::Other, Entrypoint::Other),
    ];
    assert_eq!(rows.len(), ExecutionSurface::ALL.len());
    for (surface, expected) in rows {
        assert_eq!(entrypoint(None, TaskParent::Absent, surface), expected, "{surface}");
        assert_eq!(entrypoint(Some("magic"), TaskParent::Absent, surface), expected, "{surface}");
    }
}

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

fn said(exit_reason: &str) -> EndReason {
    let facts = EndFacts { exit_reason: Some(exit_reason), ..EndFacts::default() };
    TaskEnding::from_facts(&facts).end_reason
}

#[test]
fn exit_words_determine_the_reason() {
    let rows = [
        ("interrupted_by_user", EndReason::UserCancelled),
        ("KeyboardInterrupt", EndReason::UserCancelled),
        ("cancelled", EndReason::UserCancelled),
        ("Canceled", EndReason::UserCancelled),
        ("request_timeout", EndReason::TimedOut),
        ("timed_out", EndReason::TimedOut),
        ("max_iterations_reached", EndReason::IterationLimit),
        ("budget_exhausted", EndReason::IterationLimit),
        ("approval_denied", EndReason::ApprovalDenied),
        ("rejected: approval", EndReason::ApprovalDenied),
        ("guardrail_halt", EndReason::GuardrailBlocked),
        (" System_Aborted ", EndReason::SystemAborted),
        ("system_aborted_late", EndReason::Failed),
        ("approval", EndReason::Failed),
        ("denied", EndReason::Failed),
        ("timed out", EndReason::Failed),
        ("provider_error", EndReason::Failed),
        ("unknown", EndReason::Unknown),
        (" UNKNOWN ", EndReason::Unknown),
        ("", EndReason::Unknown),
        ("  ", EndReason::Unknown),
    ];
    for (reason, expected) in rows {
        assert_eq!(said(reason), expected, "{reason:?}");
    }
}

#[test]
fn first_matching_rule_decides() {
    // Each reason has the words of the matching rule and of all later ones.
    let rows = [
        ("interrupt timeout max_iterations approval denied guardrail", EndReason::UserCancelled),
        ("timeout max_iterations approval denied guardrail", EndReason::TimedOut),
        ("max_iterations approval denied guardrail", EndReason::IterationLimit),
        ("approval denied guardrail", EndReason::ApprovalDenied),
        ("guardrail system_aborted", EndReason::GuardrailBlocked),
        ("system_aborted", EndReason::SystemAborted),
        ("anything", EndReason::Completed),
        ("unknown", EndReason::Completed),
        ("", EndReason::Completed),
    ];
    for (reason, expected) in rows {
        let exit_reason = Some(reason);
        let facts = EndFacts { exit_reason, completed: true, failed: true, interrupted: false };
        assert_eq!(TaskEnding::from_facts(&facts), TaskEnding::of(expected), "{reason:?}");
        let interrupted = EndFacts { interrupted: true, ..facts };
        assert_eq!(
            TaskEnding::from_facts(&interrupted),
            TaskEnding::of(EndReason::UserCancelled),
            "{reason:?}"
        );
    }
}

#[test]
fn flags_decide_without_exit_words() {
    let facts = EndFacts::default();
    let reason = |facts: EndFacts<'_>| TaskEnding::from_facts(&facts).end_reason;
    assert_eq!(reason(facts), EndReason::Unknown);
    assert_eq!(reason(EndFacts { failed: true, ..facts }), EndReason::Failed);
    assert_eq!(reason(EndFacts { completed: true, ..facts }), EndReason::Completed);
    assert_eq!(reason(EndFacts { interrupted: true, ..facts }), EndReason::UserCancelled);
    let failed_unknown = EndFacts { failed: true, exit_reason: Some("unknown"), ..facts };
    assert_eq!(reason(failed_unknown), EndReason::Failed);
}

#[test]
fn unreturned_task_is_cancelled_timed_out_or_aborted() {
    let rows = [
        (AbortReason::Interrupted, EndReason::UserCancelled),
        (AbortReason::TimedOut, EndReason::TimedOut),
        (AbortReason::Other, EndReason::SystemAborted),
        (AbortReason::SessionClosed, EndReason::SystemAborted),
    ];
    for (abort, expected) in rows {
        assert_eq!(TaskEnding::from_abort(abort), TaskEnding::of(expected), "{abort:?}");
    }
}
