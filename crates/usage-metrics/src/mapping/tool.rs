//! Approvals of tool calls.

use crate::catalogue::{ApprovalOutcome, CallApproval};

#[cfg(test)]
mod tests;

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
