//! Counters of the closed kinds: a hash table that only ever grows, without locks.
//!
//! All closed kinds together have 29 million cells, of which a client uses a few dozen. A slot is
//! claimed once, by a compare-and-swap on its key, and stays that cell's; counting is a probe and
//! an addition. Where a segment has no room near a cell's place, a larger one follows. Threads are
//! spread over a few such tables, so that two of them that count the same thing rarely meet.

use std::cell::Cell as ThreadCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::catalogue::Cell;

/// Slots of the first segment; each further one has four times as many.
const FIRST_SLOTS: usize = 1024;
const SEGMENTS: u32 = 6;

/// Slots that are looked at in one segment.
const PROBES: usize = 16;

/// Tables that threads are spread over.
const STRIPES: usize = 4;

/// Distinct cells that a thread can tell apart, about: the slots of all segments.
pub const MAX_CELLS: usize = FIRST_SLOTS * (4_usize.pow(SEGMENTS) - 1) / 3;

#[derive(Debug, Default)]
struct Slot {
    /// The cell's number plus one; 0 while the slot is free.
    key: AtomicU32,
    count: AtomicU64,
}

/// The tables.
#[derive(Debug, Default)]
pub(super) struct CellTable {
    stripes: [Stripe; STRIPES],
}

#[derive(Debug, Default)]
struct Stripe {
    segments: [OnceLock<Box<[Slot]>>; SEGMENTS as usize],
}

thread_local! {
    /// The stripe of this thread, given out in turn.
    static STRIPE: ThreadCell<usize> = const { ThreadCell::new(usize::MAX) };
}

#[inline]
fn stripe() -> usize {
    match STRIPE.get() {
        usize::MAX => next_stripe(),
        stripe => stripe,
    }
}

#[cold]
fn next_stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let stripe = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
    STRIPE.set(stripe);
    stripe
}

impl CellTable {
    /// Counts the cell once; false if there is no room for another cell.
    #[inline]
    pub(super) fn add(&self, cell: Cell) -> bool {
        self.stripes[stripe() % STRIPES].add(cell)
    }

    /// Takes all counts, leaving zeros. A cell may come more than once.
    pub(super) fn drain(&self, mut take: impl FnMut(Cell, u64)) {
        for stripe in &self.stripes {
            stripe.drain(&mut take);
        }
    }
}

impl Stripe {
    #[inline]
    fn add(&self, cell: Cell) -> bool {
        let key = cell.number() + 1;
        let mut slots = FIRST_SLOTS;
        for segment in &self.segments {
            let segment = segment.get_or_init(|| (0..slots).map(|_| Slot::default()).collect());
            if let Some(slot) = claim(segment, key) {
                // In one order with the flag that wakes the thread: see `Inner::wake`.
                slot.count.fetch_add(1, Ordering::SeqCst);
                return true;
            }
            slots *= 4;
        }
        false
    }

    fn drain(&self, take: &mut impl FnMut(Cell, u64)) {
        for slot in self.segments.iter().filter_map(OnceLock::get).flat_map(|slots| slots.iter()) {
            let key = slot.key.load(Ordering::Acquire);
            let Some(cell) = key.checked_sub(1).and_then(Cell::from_number) else {
                continue;
            };
            let count = slot.count.swap(0, Ordering::SeqCst);
            if count > 0 {
                take(cell, count);
            }
        }
    }
}

/// The slot of the key, claimed if it is new.
#[inline]
fn claim(segment: &[Slot], key: u32) -> Option<&Slot> {
    let mask = segment.len() - 1;
    let start = key.wrapping_mul(0x9e37_79b1) as usize >> 8;
    for probe in 0..PROBES {
        let slot = &segment[(start + probe) & mask];
        let found = match slot.key.load(Ordering::Acquire) {
            0 => match slot.key.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => key,
                Err(other) => other,
            },
            other => other,
        };
        if found == key {
            return Some(slot);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn every_cell_keeps_its_own_count_through_growth_and_threads() {
        let table = CellTable::default();
        // More cells than the first two segments hold.
        let cells: Vec<_> =
            (0..20_000).map(|at| Cell::from_number(at * 1_301 % Cell::COUNT).unwrap()).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(cells.iter().all(|cell| table.add(*cell))));
            }
        });
        let mut drained: HashMap<Cell, u64> = HashMap::new();
        table.drain(|cell, count| *drained.entry(cell).or_default() += count);
        assert_eq!(drained.len(), cells.len());
        assert!(drained.values().all(|count| *count == 4));
        table.drain(|cell, count| panic!("{cell:?} still holds {count}"));
    }

    #[test]
    fn a_full_table_says_so_and_keeps_what_it_has() {
        let table = CellTable::default();
        let mut kept = 0_u64;
        let mut refused = 0_u64;
        for number in 0..u32::try_from(MAX_CELLS).unwrap() + 200_000 {
            if table.add(Cell::from_number(number).unwrap()) { kept += 1 } else { refused += 1 }
        }
        assert!(refused > 0 && kept > 1_000_000, "{kept} kept, {refused} refused");
        let mut total = 0;
        table.drain(|_, count| total += count);
        assert_eq!(total, kept);
    }
}
