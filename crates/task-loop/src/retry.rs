//! Retries of model requests, and skipping of repeated text.

use std::borrow::Cow;
use std::time::Duration;

use wire::error::Code;

use crate::member::{MemberError, RetryAdvice};

/// Maximum number of retries of one request.
const MAX_TRIES: u32 = 6;
/// The first wait; it doubles with each retry.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Maximum wait without a Retry-After.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Jitter of a wait, to avoid simultaneous retries: a fifth either way.
const SPREAD: f64 = 0.2;

#[derive(Debug, Default)]
pub(crate) struct RetryBudget {
    tries: u32,
    heard: String,
}

impl RetryBudget {
    /// The text of earlier attempts, to skip in the next one.
    pub(crate) fn repeated_text(&self) -> RepeatedText {
        RepeatedText { before: self.heard.clone(), now: String::new(), is_other: false }
    }

    /// The wait before a retry; `None` if a retry is useless.
    pub(crate) fn wait_for(
        &mut self,
        trouble: &MemberError,
        told: RepeatedText,
    ) -> Option<Duration> {
        let asked_for = match trouble {
            // The request has an idempotency key: a repeated request is not charged again.
            MemberError::Broken { .. } | MemberError::Late { .. } => None,
            other if other.is(Code::IdempotencyInProgress) => None,
            other => match other.again() {
                RetryAdvice::Never => return None,
                RetryAdvice::Soon => None,
                RetryAdvice::After(wait) => Some(wait),
            },
        };
        self.heard = told.longest();
        self.tries += 1;
        if self.tries > MAX_TRIES {
            return None;
        }
        let doubled = FIRST_WAIT.saturating_mul(1 << (self.tries - 1)).min(LONGEST_WAIT);
        let wait = asked_for.unwrap_or(doubled).max(FIRST_WAIT);
        Some(
            wait.mul_f64(1.0 + SPREAD * (fastrand::f64() - 0.5)).max(asked_for.unwrap_or_default()),
        )
    }
}

#[derive(Debug)]
pub(crate) struct RepeatedText {
    before: String,
    now: String,
    /// The answer differs from the earlier one.
    is_other: bool,
}

impl RepeatedText {
    pub(crate) fn push_text<'a>(&mut self, text: &'a str) -> Option<Cow<'a, str>> {
        let was = self.now.len();
        self.now.push_str(text);
        if self.is_other || was >= self.before.len() {
            return Some(Cow::Borrowed(text));
        }
        if self.before.starts_with(&self.now) {
            return None;
        }
        if let Some(new) = self.now.strip_prefix(&self.before) {
            return Some(Cow::Owned(new.to_owned()));
        }
        self.is_other = true;
        Some(Cow::Owned(format!("\n[retried]\n{}", self.now)))
    }

    fn longest(self) -> String {
        if self.is_other || self.now.len() > self.before.len() { self.now } else { self.before }
    }
}

#[cfg(test)]
mod tests;
