//! The end of a task: its cause, and its ending in the metrics.

use std::time::Duration;

use usage_metrics::catalogue::EndReason;
use usage_metrics::mapping::task::TaskEnding;

use crate::member::{MemberError, credits};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TaskEnd {
    #[error("completed")]
    Completed,
    #[error("the model returned an empty response")]
    Empty,
    #[error("the provider withheld the response")]
    Filtered,
    #[error("a required tool call was not approved")]
    Denied,
    #[error("reached the limit of {limit} model calls")]
    Rounds { limit: u32 },
    #[error("the next model call could exceed the limit of {} credits", credits(*limit))]
    Budget { limit: i64 },
    #[error("timed out after {} s", limit.as_secs())]
    TimedOut { limit: Duration },
    #[error("interrupted")]
    Cancelled,
    #[error("the program was terminated")]
    Ended,
    #[error("{}", .0.line())]
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

#[cfg(test)]
mod tests;
