//! Endings of tasks, and approvals of their tool calls.

use crate::catalogue::{ApprovalOutcome, CallApproval, EndReason, TaskOutcome, Termination};

#[cfg(test)]
mod tests;

/// The ending of a task. The reason determines the other two dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskEnding {
    pub outcome: TaskOutcome,
    pub end_reason: EndReason,
    pub termination: Termination,
}

impl TaskEnding {
    /// The only valid ending for a reason: the table of the nine valid combinations.
    pub const fn of(end_reason: EndReason) -> TaskEnding {
        let (outcome, termination) = match end_reason {
            EndReason::ApprovalDenied | EndReason::Failed => {
                (TaskOutcome::Failed, Termination::None)
            }
            EndReason::Completed => (TaskOutcome::Success, Termination::None),
            EndReason::GuardrailBlocked | EndReason::IterationLimit | EndReason::SystemAborted => {
                (TaskOutcome::Failed, Termination::SystemAborted)
            }
            EndReason::TimedOut => (TaskOutcome::TimedOut, Termination::TimedOut),
            EndReason::Unknown => (TaskOutcome::Unknown, Termination::Unknown),
            EndReason::UserCancelled => (TaskOutcome::Cancelled, Termination::UserCancelled),
        };
        TaskEnding { outcome, end_reason, termination }
    }

    pub fn is_legal(outcome: TaskOutcome, end_reason: EndReason, termination: Termination) -> bool {
        TaskEnding::of(end_reason) == TaskEnding { outcome, end_reason, termination }
    }
}

/// The approval of a call by the matching answer; without one, no approval was required.
pub fn call_approval(answer: Option<ApprovalOutcome>) -> CallApproval {
    match answer {
        None => CallApproval::NotRequired,
        Some(ApprovalOutcome::Approved) => CallApproval::Approved,
        Some(ApprovalOutcome::Denied) => CallApproval::Denied,
        Some(ApprovalOutcome::TimedOut) => CallApproval::TimedOut,
        Some(ApprovalOutcome::Unknown) => CallApproval::Unknown,
    }
}
