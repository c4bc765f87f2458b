//! When a model is asked again, and what of its second answer is new.

use std::borrow::Cow;
use std::time::Duration;

use wire::error::Code;

use crate::member::{MemberError, RetryAdvice};

/// How often one question is asked again.
const MAX_TRIES: u32 = 6;
/// The first wait; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest wait without a Retry-After.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How far a wait is spread, so that not all come back at once: a fifth either way.
const SPREAD: f64 = 0.2;

#[derive(Debug, Default)]
pub(crate) struct RetryBudget {
    tries: u32,
    heard: String,
}

impl RetryBudget {
    /// The text of earlier attempts, to skip in the next one.
    pub(crate) fn told(&self) -> RepeatedText {
        RepeatedText { before: self.heard.clone(), now: String::new(), is_other: false }
    }

    /// How long to wait before asking again; nothing if that is of no use.
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
    /// The answer is not the one that was begun before.
    is_other: bool,
}

impl RepeatedText {
    pub(crate) fn hear<'a>(&mut self, text: &'a str) -> Option<Cow<'a, str>> {
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
