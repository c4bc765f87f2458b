//! Surfaces, entrypoints and endings of tasks.

use super::{first_non_empty, normalise, normalise_optional};
use crate::catalogue::{EndReason, Entrypoint, ExecutionSurface, TaskOutcome, Termination};

#[cfg(test)]
mod tests;

/// Messaging platforms; their tasks run in a gateway.
const MESSAGING_PLATFORMS: &[&str] = &[
    "bluebubbles", "dingtalk", "discord", "email", "feishu", "google-chat", "google_chat",
    "imessage", "irc", "lark", "line", "matrix", "mattermost", "messenger", "qqbot", "rocketchat",
    "signal", "slack", "sms", "teams", "telegram", "viber", "wechat", "wecom", "weixin",
    "whatsapp", "xmpp", "yuanbao", "zulip",
];

/// The surface of a task: the declared one, else that of the platform.
pub fn surface(declared: Option<&str>, platform: Option<&str>) -> ExecutionSurface {
    match normalise(first_non_empty(declared, platform)).as_ref() {
        "" => ExecutionSurface::Unknown,
        "api_server" => ExecutionSurface::Api,
        "cron" | "scheduler" | "scheduled" => ExecutionSurface::ScheduledTask,
        name if MESSAGING_PLATFORMS.contains(&name) => ExecutionSurface::Gateway,
        name => ExecutionSurface::parse(name).unwrap_or(ExecutionSurface::Other),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskParent {
    Absent,
    Present,
}

/// The entrypoint of a task: the declared one if it is listed, else by its parent, else the usual
/// one of its surface. Background must be declared.
pub fn entrypoint(
    declared: Option<&str>,
    parent: TaskParent,
    surface: ExecutionSurface,
) -> Entrypoint {
    match (Entrypoint::parse(&normalise_optional(declared)), parent) {
        (Some(declared), _) => declared,
        (None, TaskParent::Present) => Entrypoint::Delegated,
        (None, TaskParent::Absent) => usual_entrypoint(surface),
    }
}

fn usual_entrypoint(surface: ExecutionSurface) -> Entrypoint {
    match surface {
        ExecutionSurface::Cli | ExecutionSurface::Desktop | ExecutionSurface::Tui => {
            Entrypoint::Interactive
        }
        ExecutionSurface::Gateway => Entrypoint::GatewayMessage,
        ExecutionSurface::Api => Entrypoint::Api,
        ExecutionSurface::Batch => Entrypoint::Batch,
        ExecutionSurface::Python => Entrypoint::Python,
        ExecutionSurface::ScheduledTask => Entrypoint::ScheduledTask,
        ExecutionSurface::Unknown => Entrypoint::Unknown,
        ExecutionSurface::Other => Entrypoint::Other,
    }
}

/// The ending of a task. The reason determines the other two dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskEnding {
    pub outcome: TaskOutcome,
    pub end_reason: EndReason,
    pub termination: Termination,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct EndFacts<'a> {
    pub exit_reason: Option<&'a str>,
    pub interrupted: bool,
    pub completed: bool,
    pub failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortReason {
    /// A person or the host program interrupted or cancelled it.
    Interrupted,
    TimedOut,
    Other,
    SessionClosed,
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

    /// The ending of a task that returned.
    ///
    /// The first matching rule decides. Words come before flags, because a cancelled task may still
    /// report completion.
    pub fn from_facts(facts: &EndFacts<'_>) -> TaskEnding {
        let reason = normalise_optional(facts.exit_reason);
        let has = |part: &str| reason.contains(part);
        TaskEnding::of(if facts.interrupted || has("interrupt") || has("cancel") {
            EndReason::UserCancelled
        } else if has("timeout") || has("timed_out") {
            EndReason::TimedOut
        } else if has("max_iterations") || has("budget_exhausted") {
            EndReason::IterationLimit
        } else if has("approval") && (has("denied") || has("rejected")) {
            EndReason::ApprovalDenied
        } else if has("guardrail") {
            EndReason::GuardrailBlocked
        } else if reason == "system_aborted" {
            EndReason::SystemAborted
        } else if facts.completed {
            EndReason::Completed
        } else if facts.failed || !matches!(reason.as_ref(), "" | "unknown") {
            EndReason::Failed
        } else {
            EndReason::Unknown
        })
    }

    pub const fn from_abort(abort: AbortReason) -> TaskEnding {
        TaskEnding::of(match abort {
            AbortReason::Interrupted => EndReason::UserCancelled,
            AbortReason::TimedOut => EndReason::TimedOut,
            AbortReason::Other | AbortReason::SessionClosed => EndReason::SystemAborted,
        })
    }
}
