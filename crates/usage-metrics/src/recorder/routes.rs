//! Counters of model routes: raw pairs of identifiers, which are normalised when they are taken.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use papaya::{Equivalent, HashMap};

use crate::mapping::{UNKNOWN, route};
use crate::package::Counter;

/// Maximum number of distinct raw pairs; further ones are counted as an unknown route.
pub const MAX_ROUTES: usize = 4096;

/// A pair of identifiers as the caller gave it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RawRoute {
    model: Box<str>,
    provider: Box<str>,
}

struct RawRouteRef<'a> {
    model: &'a str,
    provider: &'a str,
}

impl Hash for RawRouteRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.model.hash(state);
        self.provider.hash(state);
    }
}

impl Equivalent<RawRoute> for RawRouteRef<'_> {
    fn equivalent(&self, pair: &RawRoute) -> bool {
        *self.model == *pair.model && *self.provider == *pair.provider
    }
}

#[derive(Debug, Default)]
pub(super) struct RouteTable {
    counts: HashMap<RawRoute, AtomicU64, RandomState>,
    /// Counts pairs beyond the limit.
    overflow: AtomicU64,
}

impl RouteTable {
    #[inline]
    pub(super) fn add(&self, model: &str, provider: &str) {
        let counts = self.counts.pin();
        let count = match counts.get(&RawRouteRef { model, provider }) {
            Some(count) => count,
            None if counts.len() >= MAX_ROUTES => &self.overflow,
            None => {
                let pair = RawRoute { model: model.into(), provider: provider.into() };
                counts.get_or_insert_with(pair, AtomicU64::default)
            }
        };
        count.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes all counts and resets them to zero. A route may occur more than once.
    pub(super) fn drain(&self, mut take: impl FnMut(Counter, u64)) {
        let counts = self.counts.pin();
        let pairs = counts.iter().map(|(pair, count)| (&*pair.model, &*pair.provider, count));
        for (model, provider, count) in pairs.chain([(UNKNOWN, UNKNOWN, &self.overflow)]) {
            let count = count.swap(0, Ordering::SeqCst);
            if count > 0 {
                let model = route::model(Some(model), None).into_owned();
                let provider = route::provider(Some(provider)).into_owned();
                take(Counter::Route { model, provider }, count);
            }
        }
    }
}

#[cfg(test)]
mod tests;
