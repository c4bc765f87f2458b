//! What a key, and all keys it was rotated into, may do and has done.

use crate::{LineageId, MemberId, Micros, Refusal, Room, Time};

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

    /// Counts what one of its requests was charged.
    pub fn spend(&mut self, charged: Micros) {
        self.spent = self.spent.plus(charged).unwrap_or(Micros::MAX);
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
        // A clock that was ahead must not block the key for as long as it was.
        let ahead = (self.next_arrival.micros() - now.micros()).clamp(0, MICROS_A_MINUTE);
        let free = (burst(limit) - ahead).max(0) / interval;
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
        let latest = now.plus_micros(burst(limit));
        let next = self.next_arrival.min(latest).max(now).plus_micros(interval);
        let over = next.micros() - now.micros() - burst(limit);
        if limit == 0 || over > 0 {
            let room = self.room(now).unwrap_or(Room { limit, remaining: 0, reset_micros: 0 });
            let retry_after_micros = if limit == 0 { MICROS_A_MINUTE } else { over };
            return Err(Refusal::RateLimited { retry_after_micros, room });
        }
        self.next_arrival = next;
        Ok(self.room(now))
    }
}

/// The time between two requests that come evenly; rounded up, so that no more than the limit come.
fn interval(requests_per_minute: u32) -> i64 {
    let limit = i64::from(requests_per_minute.max(1));
    (MICROS_A_MINUTE + limit - 1) / limit
}

/// How far ahead of an even arrival requests may be: all of a minute's at once.
fn burst(requests_per_minute: u32) -> i64 {
    interval(requests_per_minute) * i64::from(requests_per_minute.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(requests_per_minute: u32) -> Lineage {
        let limits = Limits { requests_per_minute: Some(requests_per_minute), ..Limits::default() };
        Lineage::new(LineageId(1), MemberId(1), limits)
    }

    #[test]
    fn as_many_as_the_limit_may_come_at_once_and_then_one_by_one() {
        for limit in [1, 7, 60, 1000] {
            let mut lineage = lineage(limit);
            let now = Time::from_millis(1_000_000);
            for left in (0..limit).rev() {
                let room = lineage.arrive(now).ok().flatten();
                assert_eq!(room.map(|room| room.remaining), Some(left), "of {limit}");
            }
            let Err(Refusal::RateLimited { retry_after_micros, .. }) = lineage.arrive(now) else {
                panic!("one more than {limit} came");
            };
            let early = now.plus_micros(retry_after_micros - 1);
            assert!(lineage.arrive(early).is_err());
            assert!(lineage.arrive(now.plus_micros(retry_after_micros)).is_ok());
        }
    }

    #[test]
    fn limits_beyond_one_a_microsecond_are_only_large() {
        for limit in [50_000_000, 60_000_001, u32::MAX] {
            let room = lineage(limit).arrive(Time::from_millis(1)).ok().flatten();
            assert_eq!(room.map(|room| room.remaining), Some(limit - 1));
        }
    }

    #[test]
    fn a_limit_of_none_lets_nothing_through() {
        assert!(lineage(0).arrive(Time::from_millis(1)).is_err());
    }
}
