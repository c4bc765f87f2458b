//! Whether an upstream is worth asking: failures in a row take it out, a good probe brings it back.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use crate::config;

/// How long it stays out at most, times the first time.
const MAX_EJECTION: u32 = 16;

/// The health of one upstream.
#[derive(Debug)]
pub(crate) struct Health {
    /// How it is looked after; `None` for not at all.
    pub(crate) policy: Option<config::Health>,
    since: Instant,
    failures: AtomicU32,
    /// How often in a row it was taken out.
    ejections: AtomicU32,
    /// Milliseconds after `since`; 0 is never.
    ejected_until: AtomicU64,
    /// Whether the last probe failed.
    probe: AtomicU32,
}

const NOT_PROBED: u32 = 0;
const PROBE_GOOD: u32 = 1;
const PROBE_BAD: u32 = 2;

impl Health {
    pub(crate) fn new(policy: Option<config::Health>) -> Self {
        Self {
            policy,
            since: Instant::now(),
            failures: AtomicU32::new(0),
            ejections: AtomicU32::new(0),
            ejected_until: AtomicU64::new(0),
            probe: AtomicU32::new(NOT_PROBED),
        }
    }

    /// Whether it may be asked.
    pub(crate) fn is_usable(&self) -> bool {
        self.probe.load(Ordering::Relaxed) != PROBE_BAD && !self.is_ejected()
    }

    /// Whether it was taken out and has not come back.
    pub(crate) fn is_ejected(&self) -> bool {
        let until = self.ejected_until.load(Ordering::Relaxed);
        until != 0 && until > self.millis()
    }

    /// It answered as it should.
    pub(crate) fn succeeded(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
        if self.ejections.load(Ordering::Relaxed) != 0 {
            self.ejections.store(0, Ordering::Relaxed);
        }
    }

    /// It failed by its own fault. Gives whether it was taken out by this.
    pub(crate) fn failed(&self) -> bool {
        let Some(policy) = &self.policy else { return false };
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures < policy.failures || self.is_ejected() {
            return false;
        }
        self.failures.store(0, Ordering::Relaxed);
        let times = self.ejections.fetch_add(1, Ordering::Relaxed).min(MAX_EJECTION.ilog2());
        let out = policy.eject.saturating_mul(1 << times);
        let until = self.millis() + u64::try_from(out.as_millis()).unwrap_or_default();
        self.ejected_until.store(until, Ordering::Relaxed);
        true
    }

    /// A probe came back. Gives whether this changed anything.
    pub(crate) fn probed(&self, good: bool) -> bool {
        let new = if good { PROBE_GOOD } else { PROBE_BAD };
        let old = self.probe.swap(new, Ordering::Relaxed);
        if good {
            self.failures.store(0, Ordering::Relaxed);
            self.ejected_until.store(0, Ordering::Relaxed);
        }
        old != new
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_take_it_out_and_a_good_probe_brings_it_back() {
        let health = Health::new(Some(config::Health::default()));
        for _ in 1..config::Health::default().failures {
            assert!(!health.failed());
        }
        assert!(health.is_usable());
        assert!(health.failed());
        assert!(!health.is_usable());
        assert!(health.probed(true));
        assert!(health.is_usable());
    }

    #[test]
    fn a_success_between_failures_keeps_it_in() {
        let health = Health::new(Some(config::Health::default()));
        for _ in 0..3 * config::Health::default().failures {
            health.failed();
            health.succeeded();
        }
        assert!(health.is_usable());
    }

    #[test]
    fn a_bad_probe_takes_it_out() {
        let health = Health::new(Some(config::Health::default()));
        assert!(health.probed(false) && !health.is_usable());
        assert!(!health.probed(false));
        assert!(health.probed(true) && health.is_usable());
    }
}
