//! Counters of the closed kinds: concurrent maps from cells to counts.
//!
//! All closed kinds together have 29 million cells, of which a client uses a few dozen. Threads are
//! spread over several maps, so that two threads that count the same cell rarely contend.

use std::cell::Cell as ThreadCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use foldhash::fast::RandomState;
use papaya::HashMap;

use crate::catalogue::Cell;

/// Maps that threads are spread over.
const STRIPES: usize = 4;

/// Maximum number of cells of one map.
pub const MAX_CELLS: usize = 1_400_000;

#[derive(Debug, Default)]
pub(super) struct CellTable {
    stripes: [HashMap<Cell, AtomicU64, RandomState>; STRIPES],
}

thread_local! {
    /// The stripe of this thread, assigned in turn.
    static STRIPE: ThreadCell<usize> = const { ThreadCell::new(usize::MAX) };
}

fn stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if STRIPE.get() == usize::MAX {
        STRIPE.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
    }
    STRIPE.get()
}

impl CellTable {
    /// Counts the cell once; returns false if the map is full.
    #[inline]
    pub(super) fn add(&self, cell: Cell) -> bool {
        let counts = self.stripes[stripe() % STRIPES].pin();
        let count = match counts.get(&cell) {
            Some(count) => count,
            None if counts.len() >= MAX_CELLS => return false,
            None => counts.get_or_insert_with(cell, AtomicU64::default),
        };
        // Sequentially consistent with the flag that wakes the thread: see `Inner::wake`.
        count.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Takes all counts and resets them to zero. A cell may occur more than once.
    pub(super) fn drain(&self, mut take: impl FnMut(Cell, u64)) {
        for counts in &self.stripes {
            for (cell, count) in &counts.pin() {
                let count = count.swap(0, Ordering::SeqCst);
                if count > 0 {
                    take(*cell, count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
