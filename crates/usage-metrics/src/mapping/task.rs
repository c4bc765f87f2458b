//! Tasks: where they ran, what started them, and how they ended.

use super::{first_given, normalise, normalise_given};
use crate::catalogue::{EndReason, Entrypoint, ExecutionSurface, TaskOutcome, Termination};

#[cfg(test)]
mod tests;

/// Platforms on which people write messages; a task from any of them ran in a gateway.
const MESSAGING_PLATFORMS: &[&str] = &[
    "bluebubbles",
    "dingtalk",
    "discord",
    "email",
    "feishu",
    "google-chat",
    "google_chat",
    "imessage",
    "irc",
    "lark",
    "line",
    "matrix",
    "mattermost",
    "messenger",
    "qqbot",
    "rocketchat",
    "signal",
    "slack",
    "sms",
    "teams",
    "telegram",
    "viber",
    "wechat",
    "wecom",
    "weixin",
    "whatsapp",
    "xmpp",
    "yuanbao",
    "zulip",
];

/// The surface a task ran on: the declared one, or the platform's when none was declared.
pub fn surface(declared: Option<&str>, platform: Option<&str>) -> ExecutionSurface {
    match normalise(first_given(declared, platform)).as_ref() {
        "" => ExecutionSurface::Unknown,
        "api_server" => ExecutionSurface::Api,
        "cron" | "scheduler" | "scheduled" => ExecutionSurface::ScheduledTask,
        name if MESSAGING_PLATFORMS.contains(&name) => ExecutionSurface::Gateway,
        name => ExecutionSurface::parse(name).unwrap_or(ExecutionSurface::Other),
    }
}

/// Whether a task was started by another task or session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// It has no parent.
    Absent,
    /// It has a parent task or a parent session.
    Present,
}

/// What started a task: the declared entrypoint if it is listed, else its parent, else what
/// usually starts tasks on its surface. Nothing is in the background unless declared so.
pub fn entrypoint(declared: Option<&str>, parent: Parent, surface: ExecutionSurface) -> Entrypoint {
    match (Entrypoint::parse(&normalise_given(declared)), parent) {
        (Some(declared), _) => declared,
        (None, Parent::Present) => Entrypoint::Delegated,
        (None, Parent::Absent) => usual_entrypoint(surface),
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

/// How a task ended: three dimensions, of which the reason decides the other two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ending {
    /// How it ended.
    pub outcome: TaskOutcome,
    /// Why it ended.
    pub end_reason: EndReason,
    /// Who or what cut it short.
    pub termination: Termination,
}

/// What a task said of itself when it returned.
#[derive(Debug, Clone, Copy, Default)]
pub struct EndFacts<'a> {
    /// The reason it gave for leaving, in its own words.
    pub exit_reason: Option<&'a str>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Whether it completed what it was asked.
    pub completed: bool,
    /// Whether it failed.
    pub failed: bool,
}

/// Why a task never returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abort {
    /// A person or the program that holds it interrupted or cancelled it.
    Interrupted,
    /// A time limit ran out.
    TimedOut,
    /// Any other error ended it.
    Other,
    /// Its session was closed while it ran.
    SessionClosed,
}

impl Ending {
    /// The one legal ending for a reason: the table of the nine legal triples.
    pub const fn of(end_reason: EndReason) -> Ending {
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
        Ending { outcome, end_reason, termination }
    }

    /// Whether the three values can belong to one task.
    pub fn is_legal(outcome: TaskOutcome, end_reason: EndReason, termination: Termination) -> bool {
        Ending::of(end_reason) == Ending { outcome, end_reason, termination }
    }

    /// The ending of a task that returned.
    ///
    /// The first rule that holds decides. The words come before the flags: a task that was
    /// cancelled may still call itself completed.
    pub fn from_facts(facts: &EndFacts<'_>) -> Ending {
        let reason = normalise_given(facts.exit_reason);
        let has = |part: &str| reason.contains(part);
        Ending::of(if facts.interrupted || has("interrupt") || has("cancel") {
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

    /// The ending of a task that never returned.
    pub const fn from_abort(abort: Abort) -> Ending {
        Ending::of(match abort {
            Abort::Interrupted => EndReason::UserCancelled,
            Abort::TimedOut => EndReason::TimedOut,
            Abort::Other | Abort::SessionClosed => EndReason::SystemAborted,
        })
    }
}
