//! What a key, and all keys it was rotated into, may do and has done.

use crate::{LineageId, MemberId, Micros, Refusal, Time};

const MICROS_A_MINUTE: i64 = 60_000_000;

/// The shared state of a key and its successors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// Which.
    pub id: LineageId,
    /// Whose money it spends.
    pub member: MemberId,
    /// What it may do.
    pub limits: Limits,
    /// What its requests were charged in all.
    pub spent: Micros,
    /// What its live holds set aside.
    pub held: Micros,
    /// How many live holds it has.
    pub running: u32,
    /// When the next request would arrive if all had come evenly: the state of its rate.
    pub next_arrival: Time,
}

/// What a key may do; `None` is without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// What it may spend in all.
    pub spend: Option<Micros>,
    /// Requests a minute; as many may come at once.
    pub requests_per_minute: Option<u32>,
    /// Requests at the same time.
    pub concurrency: Option<u32>,
}

/// How much of its rate a key has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Requests a minute.
    pub limit: u32,
    /// How many may come now.
    pub remaining: u32,
    /// When all of them may come again, from now.
    pub reset_micros: i64,
}

impl Lineage {
    /// A key that has done nothing yet.
    pub fn new(id: LineageId, member: MemberId, limits: Limits) -> Self {
        Self {
            id,
            member,
            limits,
            spent: Micros::ZERO,
            held: Micros::ZERO,
            running: 0,
            next_arrival: Time::default(),
        }
    }

    /// What it may still spend; `None` is without limit.
    pub fn spendable(&self) -> Option<Micros> {
        let limit = self.limits.spend?;
        let used = self.spent.plus(self.held).unwrap_or(Micros::MAX);
        Some(limit.minus(used).unwrap_or(Micros::ZERO))
    }

    /// How much of its rate is left; `None` where there is no limit.
    pub fn room(&self, now: Time) -> Option<Room> {
        let limit = self.limits.requests_per_minute?;
        let interval = interval(limit);
        let ahead = (self.next_arrival.micros() - now.micros()).max(0);
        let free = (MICROS_A_MINUTE - ahead).max(0) / interval;
        Some(Room {
            limit,
            remaining: u32::try_from(free).unwrap_or(u32::MAX).min(limit),
            reset_micros: ahead,
        })
    }

    /// Takes one request off the rate.
    pub(crate) fn arrive(&mut self, now: Time) -> Result<Option<Room>, Refusal> {
        let Some(limit) = self.limits.requests_per_minute else { return Ok(None) };
        let interval = interval(limit);
        let next = self.next_arrival.max(now).plus_micros(interval);
        let over = next.micros() - now.micros() - interval * i64::from(limit.max(1));
        if limit == 0 || over > 0 {
            let room = self.room(now).unwrap_or(Room { limit, remaining: 0, reset_micros: 0 });
            let retry_after_micros = if limit == 0 { MICROS_A_MINUTE } else { over };
            return Err(Refusal::RateLimited { retry_after_micros, room });
        }
        self.next_arrival = next;
        Ok(self.room(now))
    }
}

/// The time between two requests that come evenly.
fn interval(requests_per_minute: u32) -> i64 {
    MICROS_A_MINUTE / i64::from(requests_per_minute.max(1))
}
