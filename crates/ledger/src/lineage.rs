//! Limits, spend and rate of an API key and the keys it was rotated into.

use crate::{
    Budget, BudgetScope, BudgetStatus, BudgetUse, LineageId, MemberId, Micros, RateLimitStatus,
    Refusal, Time, Windows,
};

const MICROS_A_MINUTE: i64 = 60_000_000;

/// The shared state of an API key and its successors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lineage {
    pub id: LineageId,
    pub member: MemberId,
    /// The limits of all its keys together.
    pub limits: Limits,
    /// The sum of all charges.
    pub spent: Micros,
    /// The sum of its live holds.
    pub held: Micros,
    pub running: u32,
    /// State of the rate limit: the theoretical arrival time of the next request (GCRA).
    pub next_arrival: Time,
    pub budget_use: BudgetUse,
    /// When the last charged request ended; 0 if there was none.
    pub last_used: Time,
}

/// Limits of a key; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub spend: Option<Micros>,
    /// Requests per minute; the burst is as large.
    pub requests_per_minute: Option<u32>,
    pub concurrency: Option<u32>,
    pub budget: Option<Budget>,
}

impl Lineage {
    pub fn new(id: LineageId, member: MemberId, limits: Limits) -> Self {
        Self { id, member, limits, ..Self::default() }
    }

    pub fn budget_status(&self, windows: &Windows) -> Option<BudgetStatus> {
        Some(BudgetStatus::new(
            BudgetScope::Key(self.id),
            self.limits.budget?,
            self.budget_use,
            windows,
        ))
    }

    /// Adds the charge of a request that ended at this time.
    pub fn spend(&mut self, charged: Micros, at: Time) {
        self.spent = self.spent.plus(charged).unwrap_or(Micros::MAX);
        if charged > Micros::ZERO {
            self.last_used = self.last_used.max(at);
        }
    }

    /// Remaining spend limit; `None` is unlimited.
    pub fn remaining_spend(&self) -> Option<Micros> {
        let limit = self.limits.spend?;
        let used = self.spent.plus(self.held).unwrap_or(Micros::MAX);
        Some(limit.minus(used).unwrap_or(Micros::ZERO))
    }

    /// The state of the rate limit; `None` without a limit.
    pub fn rate_limit_status(&self, now: Time) -> Option<RateLimitStatus> {
        let limit = self.limits.requests_per_minute?;
        let interval = interval(limit);
        // Bounded, so that a clock that was ahead does not block the key for as long.
        let ahead = (self.next_arrival.micros() - now.micros()).clamp(0, MICROS_A_MINUTE);
        let free = (burst(limit) - ahead).max(0) / interval;
        Some(RateLimitStatus {
            limit,
            remaining: u32::try_from(free).unwrap_or(u32::MAX).min(limit),
            reset_micros: ahead,
        })
    }

    /// Counts one request against the rate limit.
    pub(crate) fn count_request(&mut self, now: Time) -> Result<Option<RateLimitStatus>, Refusal> {
        let Some(limit) = self.limits.requests_per_minute else { return Ok(None) };
        let interval = interval(limit);
        let latest = now.plus_micros(burst(limit));
        let next = self.next_arrival.min(latest).max(now).plus_micros(interval);
        let over = next.micros() - now.micros() - burst(limit);
        if limit == 0 || over > 0 {
            let empty = RateLimitStatus { limit, remaining: 0, reset_micros: 0 };
            let status = self.rate_limit_status(now).unwrap_or(empty);
            let retry_after_micros = if limit == 0 { MICROS_A_MINUTE } else { over };
            return Err(Refusal::RateLimited { retry_after_micros, status });
        }
        self.next_arrival = next;
        Ok(self.rate_limit_status(now))
    }
}

/// The time between two evenly spaced requests, rounded up so that the limit is never exceeded.
fn interval(requests_per_minute: u32) -> i64 {
    let limit = i64::from(requests_per_minute.max(1));
    (MICROS_A_MINUTE + limit - 1) / limit
}

/// The burst size as a time: a full minute's requests at once.
fn burst(requests_per_minute: u32) -> i64 {
    interval(requests_per_minute) * i64::from(requests_per_minute.max(1))
}

#[cfg(test)]
mod tests;
