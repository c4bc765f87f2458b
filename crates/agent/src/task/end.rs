//! How a task ends: one cause, and the one legal ending that counts for it.

use std::fmt;
use std::time::Duration;

use usage_metrics::catalogue::EndReason;
use usage_metrics::mapping::task::TaskEnding;

use crate::diagnostic::{Diagnostic, Exit};
use crate::member::credits;
use crate::member::settings::Settings;
use crate::member::trouble::Trouble;

/// Why a task ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cause {
    /// The model had nothing more to do.
    Completed,
    /// The model said nothing at all.
    Empty,
    /// The model's provider would not say it.
    Filtered,
    /// A person said no, or nobody was there to say yes.
    Denied,
    /// The model was asked as often as allowed.
    Rounds { limit: u32 },
    /// The next call could cost more than allowed.
    Budget { limit: i64 },
    /// It took as long as allowed.
    TimedOut { limit: Duration },
    /// Somebody interrupted it.
    Cancelled,
    /// The program was told to end.
    Ended,
    /// The service failed, or refused.
    Trouble(Trouble),
}

/// The end of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct End {
    pub(crate) cause: Cause,
}

impl End {
    pub(crate) fn of(cause: Cause) -> Self {
        Self { cause }
    }

    pub(crate) fn is_completed(&self) -> bool {
        self.cause == Cause::Completed
    }

    /// What is counted.
    pub(crate) fn ending(&self) -> TaskEnding {
        TaskEnding::of(match &self.cause {
            Cause::Completed => EndReason::Completed,
            Cause::Empty => EndReason::Unknown,
            Cause::Filtered => EndReason::GuardrailBlocked,
            Cause::Denied => EndReason::ApprovalDenied,
            Cause::Rounds { .. } | Cause::Budget { .. } => EndReason::IterationLimit,
            Cause::TimedOut { .. } => EndReason::TimedOut,
            Cause::Cancelled => EndReason::UserCancelled,
            Cause::Ended => EndReason::SystemAborted,
            Cause::Trouble(_) => EndReason::Failed,
        })
    }

    /// What the person who started it is told; nothing if all is well.
    pub(crate) fn diagnostic(&self, settings: &Settings) -> Option<Diagnostic> {
        let told = format!("the task did not end well: {self}");
        Some(match &self.cause {
            Cause::Completed => return None,
            Cause::Trouble(trouble) => trouble.diagnostic(settings),
            Cause::Cancelled => Diagnostic::interrupted(Exit::Interrupted),
            Cause::Ended => Diagnostic::interrupted(Exit::Terminated),
            Cause::Denied => Diagnostic::failed(told)
                .hint("at a terminal you are asked; `--approve SERVER` says yes beforehand"),
            Cause::Rounds { .. } => Diagnostic::failed(told).hint("`--max-rounds` sets the limit"),
            Cause::Budget { .. } => Diagnostic::failed(told).hint("`--max-credits` sets the limit"),
            Cause::TimedOut { .. } => Diagnostic::failed(told).hint("`--max-time` sets the limit"),
            Cause::Empty | Cause::Filtered => Diagnostic::failed(told),
        })
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Completed => write!(f, "completed"),
            Cause::Empty => write!(f, "the model said nothing"),
            Cause::Filtered => write!(f, "the model's provider held the answer back"),
            Cause::Denied => write!(f, "what it needs was not approved"),
            Cause::Rounds { limit } => write!(f, "the model was asked {limit} times"),
            Cause::Budget { limit } => {
                write!(f, "more than {} credits could be spent", credits(*limit))
            }
            Cause::TimedOut { limit } => write!(f, "{} s are over", limit.as_secs()),
            Cause::Cancelled => write!(f, "interrupted"),
            Cause::Ended => write!(f, "the program was told to end"),
            Cause::Trouble(trouble) => write!(f, "{}", trouble.line()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_cause_counts_as_a_legal_ending_and_together_they_are_all_nine() {
        let trouble = Trouble::Broken { reason: "x".to_owned() };
        let all = [
            Cause::Completed,
            Cause::Empty,
            Cause::Filtered,
            Cause::Denied,
            Cause::Rounds { limit: 1 },
            Cause::Budget { limit: 1 },
            Cause::TimedOut { limit: Duration::from_secs(1) },
            Cause::Cancelled,
            Cause::Ended,
            Cause::Trouble(trouble),
        ];
        let mut reasons = BTreeSet::new();
        for cause in all {
            let TaskEnding { outcome, end_reason, termination } = End::of(cause).ending();
            assert!(TaskEnding::is_legal(outcome, end_reason, termination));
            reasons.insert(format!("{end_reason:?}"));
        }
        assert_eq!(reasons.len(), 9, "{reasons:?}");
    }
}
