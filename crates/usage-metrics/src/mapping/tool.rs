//! Tools: what sort they are, how their calls ended, and what was said about approval.

use super::normalise_given;
use crate::catalogue::{
    ApprovalOutcome, Attribution, CallApproval, TaskOutcome, ToolCategory, ToolOutcome,
};

#[cfg(test)]
mod tests;

/// How the names of toolsets begin whose members come in many variants.
const TOOLSET_PREFIXES: &[(&str, ToolCategory)] = &[
    ("agent-yuanbao", ToolCategory::Communication),
    ("browser", ToolCategory::Browser),
    ("discord", ToolCategory::Communication),
    ("email", ToolCategory::Communication),
    ("feishu", ToolCategory::Communication),
    ("homeassistant", ToolCategory::HomeAutomation),
    ("image", ToolCategory::Media),
    ("mcp", ToolCategory::Mcp),
    ("slack", ToolCategory::Communication),
    ("sms", ToolCategory::Communication),
    ("tts", ToolCategory::Media),
    ("video", ToolCategory::Media),
    ("vision", ToolCategory::Media),
];

/// The category of the tools in a toolset.
///
/// The toolset is what the tool's owner declared, or the kind declared for the server it comes
/// from; a category's own name is one. The name of the tool is never looked at.
pub fn category(toolset: Option<&str>) -> ToolCategory {
    match normalise_given(toolset).as_ref() {
        "" => ToolCategory::Unknown,
        "clarify" | "kanban" | "todo" => ToolCategory::Planning,
        "session_search" => ToolCategory::Memory,
        "cronjob" => ToolCategory::Scheduler,
        "skills" => ToolCategory::Skill,
        "x_search" => ToolCategory::Web,
        name => ToolCategory::parse(name)
            .or_else(|| category_by_prefix(name))
            .unwrap_or(ToolCategory::Other),
    }
}

fn category_by_prefix(toolset: &str) -> Option<ToolCategory> {
    TOOLSET_PREFIXES
        .iter()
        .find(|(prefix, _)| toolset.starts_with(prefix))
        .map(|(_, category)| *category)
}

/// How a tool call ended, by the status it returned.
pub fn outcome(status: Option<&str>) -> ToolOutcome {
    match normalise_given(status).as_ref() {
        "ok" => ToolOutcome::Success,
        "error" => ToolOutcome::Failed,
        "timeout" => ToolOutcome::TimedOut,
        status => ToolOutcome::parse(status).unwrap_or(ToolOutcome::Unknown),
    }
}

/// How a tool call ended that was still open when its task did.
pub fn outcome_at_task_end(task: TaskOutcome) -> ToolOutcome {
    match task {
        TaskOutcome::Cancelled => ToolOutcome::Cancelled,
        TaskOutcome::TimedOut => ToolOutcome::TimedOut,
        TaskOutcome::Failed | TaskOutcome::Success | TaskOutcome::Unknown => ToolOutcome::Failed,
    }
}

/// What an answer to a request for approval amounts to.
pub fn approval(choice: Option<&str>) -> ApprovalOutcome {
    match normalise_given(choice).as_ref() {
        "always" | "approve" | "approved" | "once" | "session" | "smart_approve" => {
            ApprovalOutcome::Approved
        }
        "deny" | "denied" | "smart_deny" => ApprovalOutcome::Denied,
        "timeout" | "timed_out" => ApprovalOutcome::TimedOut,
        _ => ApprovalOutcome::Unknown,
    }
}

/// The approval of a call, by the answer that was matched to it; without one none was required.
pub fn call_approval(answer: Option<ApprovalOutcome>) -> CallApproval {
    match answer {
        None => CallApproval::NotRequired,
        Some(ApprovalOutcome::Approved) => CallApproval::Approved,
        Some(ApprovalOutcome::Denied) => CallApproval::Denied,
        Some(ApprovalOutcome::TimedOut) => CallApproval::TimedOut,
        Some(ApprovalOutcome::Unknown) => CallApproval::Unknown,
    }
}

/// Whether an answer belongs to a call: only when its id matched exactly one open call.
pub fn attribution(open_calls_matched: usize) -> Attribution {
    match open_calls_matched {
        1 => Attribution::ToolCall,
        _ => Attribution::Unattributed,
    }
}
