//! How a task ends: one cause, and the one legal ending that counts for it.

use std::fmt;
use std::time::Duration;

use usage_metrics::catalogue::EndReason;
use usage_metrics::mapping::task::TaskEnding;

use crate::member::{MemberError, credits};

#[derive(Debug, Clone, PartialEq)]
pub enum TaskEnd {
    Completed,
    Empty,
    Filtered,
    Denied,
    Rounds { limit: u32 },
    Budget { limit: i64 },
    TimedOut { limit: Duration },
    Cancelled,
    Ended,
    Trouble(MemberError),
}

impl TaskEnd {
    pub fn ending(&self) -> TaskEnding {
        TaskEnding::of(match self {
            Self::Completed => EndReason::Completed,
            Self::Empty => EndReason::Unknown,
            Self::Filtered => EndReason::GuardrailBlocked,
            Self::Denied => EndReason::ApprovalDenied,
            Self::Rounds { .. } | Self::Budget { .. } => EndReason::IterationLimit,
            Self::TimedOut { .. } => EndReason::TimedOut,
            Self::Cancelled => EndReason::UserCancelled,
            Self::Ended => EndReason::SystemAborted,
            Self::Trouble(_) => EndReason::Failed,
        })
    }
}

impl fmt::Display for TaskEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => write!(f, "completed"),
            Self::Empty => write!(f, "the model returned an empty response"),
            Self::Filtered => write!(f, "the provider withheld the response"),
            Self::Denied => write!(f, "a required tool call was not approved"),
            Self::Rounds { limit } => write!(f, "reached the limit of {limit} model calls"),
            Self::Budget { limit } => {
                let limit = credits(*limit);
                write!(f, "the next model call could exceed the limit of {limit} credits")
            }
            Self::TimedOut { limit } => write!(f, "timed out after {} s", limit.as_secs()),
            Self::Cancelled => write!(f, "interrupted"),
            Self::Ended => write!(f, "the program was terminated"),
            Self::Trouble(trouble) => write!(f, "{}", trouble.line()),
        }
    }
}

#[cfg(test)]
mod tests;
