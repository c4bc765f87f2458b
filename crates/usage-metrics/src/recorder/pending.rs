//! Counts that were taken from the tables and are not stored yet.

use std::collections::BTreeMap;

use crate::clock::{Day, Timestamp};
use crate::package::{Counter, Resource};
use crate::store::CounterBatch;

/// Maximum number of counters in memory, per day. Events beyond that are lost, and counted.
pub const MAX_PENDING: usize = 100_000;

#[derive(Debug)]
pub(super) struct PendingCounts {
    resource: Resource,
    days: BTreeMap<Day, CounterBatch>,
    counters: usize,
}

impl PendingCounts {
    pub(super) fn new(resource: Resource) -> Self {
        PendingCounts { resource, days: BTreeMap::new(), counters: 0 }
    }

    pub(super) fn add(&mut self, at: Timestamp, counter: Counter, count: u64) {
        let full = self.counters >= MAX_PENDING;
        let batch = self.day(at);
        if let Some(waiting) = batch.counts.get_mut(&counter) {
            *waiting = waiting.saturating_add(count);
        } else if full {
            batch.lost = batch.lost.saturating_add(count);
        } else {
            batch.counts.insert(counter, count);
            self.counters += 1;
        }
    }

    /// The batch of a day; its time is the last time counts of this day were taken.
    pub(super) fn day(&mut self, at: Timestamp) -> &mut CounterBatch {
        let batch = self.days.entry(at.day()).or_insert_with(|| CounterBatch {
            at,
            resource: self.resource.clone(),
            counts: BTreeMap::new(),
            active: false,
            lost: 0,
        });
        batch.at = at.max(batch.at);
        batch
    }

    pub(super) fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.days.clear();
        self.counters = 0;
    }

    pub(super) fn batches(&self) -> impl Iterator<Item = &CounterBatch> {
        self.days.values()
    }
}

#[cfg(test)]
mod tests;
