//! Work on files of strangers, confined: in a thread of its own, with a large stack, for a limited
//! time. A panic is an answer like any other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

/// What is nested deeply needs a deep stack. Pages that are not touched cost nothing.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// The most threads that nobody waits for any more. They cannot be ended from outside.
const MAX_LEFT_BEHIND: usize = 4;

/// Threads that nobody waits for any more.
static LEFT_BEHIND: LeftBehind = LeftBehind::new();

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failed {
    /// It would not end.
    #[error("it took too long")]
    TooLong,
    /// It panicked.
    #[error("it made the reader fail")]
    Panicked,
    /// Too much of it has not ended yet, or there is no room for another thread.
    #[error("there is too much to do")]
    Busy,
}

/// Does the work and waits for it, at most so long.
pub(crate) fn run<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failed> {
    LEFT_BEHIND.run(limit, work)
}

/// Counts threads that nobody waits for any more.
struct LeftBehind(AtomicUsize);

impl LeftBehind {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    fn run<T: Send + 'static>(
        &'static self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failed> {
        if self.0.load(Ordering::Acquire) >= MAX_LEFT_BEHIND {
            return Err(Failed::Busy);
        }
        // Whoever sends waits until it is received, or until nobody will.
        let (done, result) = sync_channel(0);
        let thread = thread::Builder::new().name("confined".to_owned()).stack_size(STACK_BYTES);
        let started = thread.spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(work));
            if done.send(outcome).is_err() {
                self.0.fetch_sub(1, Ordering::AcqRel);
            }
        });
        started.map_err(|_| Failed::Busy)?;
        if let Ok(outcome) = result.recv_timeout(limit) {
            return outcome.map_err(|_| Failed::Panicked);
        }
        // Before the receiver is gone: the thread takes itself out again.
        self.0.fetch_add(1, Ordering::AcqRel);
        drop(result);
        Err(Failed::TooLong)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_result_a_panic_and_deep_recursion_come_back() {
        fn deep(level: u32) -> u32 {
            let room = std::hint::black_box([level; 64]);
            if level == 0 { room[0] } else { deep(level - 1) + room[1] - level }
        }
        assert_eq!(run(LONG, || 7), Ok(7));
        let panicked: Result<(), Failed> = run(LONG, || panic!("on purpose"));
        assert_eq!(panicked, Err(Failed::Panicked));
        assert_eq!(run(LONG, || deep(50_000)), Ok(0));
    }

    static SMALL: LeftBehind = LeftBehind::new();

    #[test]
    fn what_does_not_end_is_left_behind_until_there_are_too_many() {
        let (gates, threads): (Vec<_>, Vec<_>) =
            (0..MAX_LEFT_BEHIND).map(|_| mpsc::channel::<()>()).unzip();
        for gate in threads {
            let waiting = SMALL.run(Duration::from_millis(10), move || gate.recv().is_ok());
            assert_eq!(waiting, Err(Failed::TooLong));
        }
        assert_eq!(SMALL.run(LONG, || 7), Err(Failed::Busy));
        drop(gates);
        agent_test_support::wait::eventually("they have ended", || SMALL.run(LONG, || 7) == Ok(7));
    }
}
