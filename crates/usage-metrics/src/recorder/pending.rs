//! Counts that were taken from the tables and are not stored yet.

use std::collections::BTreeMap;

use crate::clock::{Day, Timestamp};
use crate::package::{Counter, Resource};
use crate::store::CounterBatch;

/// Maximum number of counters in memory, per day. Events beyond that are lost, and counted.
pub const MAX_PENDING: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct PendingCounts {
    days: BTreeMap<Day, DayCounts>,
    counters: usize,
    lost: u64,
}

#[derive(Debug)]
struct DayCounts {
    /// The last time counts of this day were taken.
    at: Timestamp,
    counts: BTreeMap<Counter, u64>,
    active: bool,
}

impl PendingCounts {
    pub(super) fn add(&mut self, at: Timestamp, counter: Counter, count: u64) {
        let full = self.counters >= MAX_PENDING;
        let counts = &mut self.day(at).counts;
        if let Some(waiting) = counts.get_mut(&counter) {
            *waiting = waiting.saturating_add(count);
        } else if full {
            self.lost = self.lost.saturating_add(count);
        } else {
            counts.insert(counter, count);
            self.counters += 1;
        }
    }

    pub(super) fn add_active(&mut self, at: Timestamp) {
        self.day(at).active = true;
    }

    pub(super) fn add_lost(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }

    fn day(&mut self, at: Timestamp) -> &mut DayCounts {
        let waiting = self.days.entry(at.day()).or_insert_with(|| DayCounts {
            at,
            counts: BTreeMap::new(),
            active: false,
        });
        waiting.at = at.max(waiting.at);
        waiting
    }

    pub(super) fn is_empty(&self) -> bool {
        self.days.is_empty() && self.lost == 0
    }

    pub(super) fn increments(&self) -> u64 {
        self.days
            .values()
            .flat_map(|waiting| waiting.counts.values())
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Lost events that are not in the store's count yet.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn batches(&self, now: Timestamp, resource: &Resource) -> Vec<CounterBatch> {
        let mut batches: Vec<CounterBatch> = self
            .days
            .values()
            .map(|waiting| CounterBatch {
                at: waiting.at,
                resource: resource.clone(),
                counts: waiting.counts.iter().map(|(key, count)| (key.clone(), *count)).collect(),
                active: waiting.active,
                lost: 0,
            })
            .collect();
        match batches.first_mut() {
            Some(first) => first.lost = self.lost,
            None if self.lost > 0 => batches.push(CounterBatch {
                at: now,
                resource: resource.clone(),
                counts: Vec::new(),
                active: false,
                lost: self.lost,
            }),
            None => {}
        }
        batches
    }
}

#[cfg(test)]
mod tests;
