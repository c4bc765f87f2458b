//! The thread pool of one answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use crate::Problem;
use crate::processor::Processor;

/// The threads of one answer. They share its work if no other answer is computed; otherwise
/// one of them does it alone, so that each answer has a core. The result is the same.
#[derive(Debug)]
pub(crate) struct ThreadPool {
    pub(crate) processor: Processor,
    pool: rayon::ThreadPool,
    /// Number of answers being computed, by all pools.
    busy: Arc<AtomicUsize>,
}

impl ThreadPool {
    /// Opens a pool for one answer; `busy` counts the answers of all pools.
    pub(crate) fn open(threads: usize, busy: Arc<AtomicUsize>) -> Result<Self, Problem> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .thread_name(|index| format!("model-{index}"))
            .build()
            .map_err(|error| Problem::new(format!("cannot start compute threads: {error}")))?;
        Ok(Self { processor: Processor::detect(), pool, busy })
    }

    /// Runs work on this pool, counted as one answer.
    pub(crate) fn work<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let _counted = Counted::below(usize::MAX, &self.busy);
        self.pool.install(work)
    }

    pub(crate) fn threads(&self) -> usize {
        if self.busy.load(Ordering::Relaxed) > 1 { 1 } else { self.pool.current_num_threads() }
    }

    /// Splits `out` into parts for the threads, each of `size` numbers except the last.
    pub(crate) fn share(
        &self,
        out: &mut [f32],
        size: usize,
        work: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        if self.threads() == 1 || out.len() <= size {
            for (index, part) in out.chunks_mut(size).enumerate() {
                work(index, part);
            }
        } else {
            out.par_chunks_mut(size).enumerate().for_each(|(index, part)| work(index, part));
        }
    }
}

/// Counts until it is dropped.
pub(crate) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    /// Adds one to a count that is less than `most`.
    pub(crate) fn below(most: usize, count: &'a AtomicUsize) -> Option<Self> {
        let one_more = |count| (count < most).then_some(count + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Self(count))
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
