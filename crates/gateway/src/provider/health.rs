//! Health of an upstream: failed probes make it unusable, failed requests only eject it for a while,
//! and a refused key is remembered until a request or a probe shows that it is accepted again.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use crate::config;

/// The longest ejection, as a multiple of the first.
const MAX_EJECTION: u32 = 16;

#[derive(Debug)]
pub(crate) struct Health {
    /// `None` disables health checks.
    pub(crate) policy: Option<config::Health>,
    since: Instant,
    failures: AtomicU32,
    /// The number of ejections in a row.
    ejections: AtomicU32,
    /// Milliseconds after `since`; 0 for never.
    ejected_until: AtomicU64,
    probe: AtomicU32,
    /// The number of failed probes in a row.
    bad_probes: AtomicU32,
    /// Origins of requests whose key was refused: bits of [`AskedBy`].
    key_refused: AtomicU8,
    /// An operator stopped new requests to it.
    drained: AtomicBool,
}

const NOT_PROBED: u32 = 0;
const PROBE_GOOD: u32 = 1;
const PROBE_BAD: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probed {
    Good,
    Failed,
    /// The program or the file does not exist.
    Absent,
}

/// The origin of a request. A list of models may be public, so a good probe does not clear a key that
/// was refused to a member's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedBy {
    Request = 1,
    Probe = 2,
}

impl Health {
    pub(crate) fn new(policy: Option<config::Health>) -> Self {
        Self {
            policy,
            since: Instant::now(),
            failures: AtomicU32::new(0),
            ejections: AtomicU32::new(0),
            ejected_until: AtomicU64::new(0),
            probe: AtomicU32::new(NOT_PROBED),
            bad_probes: AtomicU32::new(0),
            key_refused: AtomicU8::new(0),
            drained: AtomicBool::new(false),
        }
    }

    /// Whether it is neither ejected nor unusable.
    pub(crate) fn is_good(&self) -> bool {
        self.is_usable() && !self.is_ejected()
    }

    pub(crate) fn awaits_probe(&self) -> bool {
        let is_probed = self.policy.as_ref().is_some_and(|policy| !policy.path.is_empty());
        is_probed && self.probe.load(Ordering::Relaxed) == NOT_PROBED
    }

    /// Whether its probes succeed and no operator drains it. An ejected upstream is usable if there is
    /// no better one.
    pub(crate) fn is_usable(&self) -> bool {
        self.probe.load(Ordering::Relaxed) != PROBE_BAD && !self.is_drained()
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed)
    }

    /// Stops or allows new requests; returns whether this changed it.
    pub(crate) fn set_drained(&self, drained: bool) -> bool {
        self.drained.swap(drained, Ordering::Relaxed) != drained
    }

    /// Whether others are preferred temporarily, because requests to it failed.
    pub(crate) fn is_ejected(&self) -> bool {
        let until = self.ejected_until.load(Ordering::Relaxed);
        until != 0 && until > self.millis()
    }

    pub(crate) fn succeeded(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
        if self.ejections.load(Ordering::Relaxed) != 0 {
            self.ejections.store(0, Ordering::Relaxed);
        }
    }

    /// Records a failure; returns whether this ejects it.
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

    /// Records a probe; returns whether its state changed. A good upstream becomes unusable only after
    /// as many failed probes in a row as failures eject it.
    pub(crate) fn probed(&self, probed: Probed) -> bool {
        let is_good = probed == Probed::Good;
        if is_good {
            self.bad_probes.store(0, Ordering::Relaxed);
            self.failures.store(0, Ordering::Relaxed);
            self.ejected_until.store(0, Ordering::Relaxed);
        } else {
            let bad = self.bad_probes.fetch_add(1, Ordering::Relaxed) + 1;
            let needed = self.policy.as_ref().map_or(1, |policy| policy.failures);
            let may_be_chance = probed == Probed::Failed && bad < needed;
            if may_be_chance && self.probe.load(Ordering::Relaxed) == PROBE_GOOD {
                return false;
            }
        }
        let new = if is_good { PROBE_GOOD } else { PROBE_BAD };
        self.probe.swap(new, Ordering::Relaxed) != new
    }

    pub(crate) fn is_key_refused(&self) -> bool {
        self.key_refused.load(Ordering::Relaxed) != 0
    }

    /// Updates whether the operator's key is refused; returns the new state if it changed. The content
    /// of a request can cause a 403: only that of a probe counts.
    pub(crate) fn note_status(&self, asked_by: AskedBy, status: u16) -> Option<bool> {
        let known = self.key_refused.load(Ordering::Relaxed);
        match (status, asked_by) {
            (401, _) | (403, AskedBy::Probe) => {
                let before = self.key_refused.fetch_or(asked_by as u8, Ordering::Relaxed);
                (before == 0).then_some(true)
            }
            (200..=299, _) if known != 0 => {
                let cleared = match asked_by {
                    AskedBy::Request => AskedBy::Request as u8 | AskedBy::Probe as u8,
                    AskedBy::Probe => AskedBy::Probe as u8,
                };
                let before = self.key_refused.fetch_and(!cleared, Ordering::Relaxed);
                (before != 0 && before & !cleared == 0).then_some(false)
            }
            _ => None,
        }
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }
}

#[cfg(test)]
mod tests;
