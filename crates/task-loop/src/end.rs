//! How a task ends: one cause, and the one legal ending that counts for it.

use std::fmt;
use std::time::Duration;

use usage_metrics::catalogue::EndReason;
use usage_metrics::mapping::task::TaskEnding;

use crate::member::{MemberError, credits};

/// Why a task ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EndCause {
    /// The model had nothing more to do.
    Completed,
    /// The model said nothing at all.
    Empty,
    /// The model's provider would not say it.
    Filtered,
    /// A call was not approved.
    Denied,
    /// The model was asked as often as allowed.
    Rounds {
        limit: u32,
    },
    /// The next call could cost more than allowed.
    Budget {
        limit: i64,
    },
    TimedOut {
        limit: Duration,
    },
    Cancelled,
    Ended,
    Trouble(MemberError),
}

/// The end of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEnd {
    pub cause: EndCause,
}

impl TaskEnd {
    pub fn of(cause: EndCause) -> Self {
        Self { cause }
    }

    pub fn is_completed(&self) -> bool {
        self.cause == EndCause::Completed
    }

    /// What is counted.
    pub fn ending(&self) -> TaskEnding {
        TaskEnding::of(match &self.cause {
            EndCause::Completed => EndReason::Completed,
            EndCause::Empty => EndReason::Unknown,
            EndCause::Filtered => EndReason::GuardrailBlocked,
            EndCause::Denied => EndReason::ApprovalDenied,
            EndCause::Rounds { .. } | EndCause::Budget { .. } => EndReason::IterationLimit,
            EndCause::TimedOut { .. } => EndReason::TimedOut,
            EndCause::Cancelled => EndReason::UserCancelled,
            EndCause::Ended => EndReason::SystemAborted,
            EndCause::Trouble(_) => EndReason::Failed,
        })
    }
}

impl fmt::Display for TaskEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            EndCause::Completed => write!(f, "completed"),
            EndCause::Empty => write!(f, "the model returned an empty response"),
            EndCause::Filtered => write!(f, "the provider withheld the response"),
            EndCause::Denied => write!(f, "a required tool call was not approved"),
            EndCause::Rounds { limit } => write!(f, "reached the limit of {limit} model calls"),
            EndCause::Budget { limit } => {
                write!(
                    f,
                    "the next model call could exceed the limit of {} credits",
                    credits(*limit)
                )
            }
            EndCause::TimedOut { limit } => write!(f, "timed out after {} s", limit.as_secs()),
            EndCause::Cancelled => write!(f, "interrupted"),
            EndCause::Ended => write!(f, "the program was terminated"),
            EndCause::Trouble(trouble) => write!(f, "{}", trouble.line()),
        }
    }
}

#[cfg(test)]
mod tests;
