//! Counters of model routes: raw pairs of identifiers, each normalised once.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

#[derive(Debug)]
struct Route {
    model: String,
    provider: String,
    count: AtomicU64,
}

impl Route {
    fn new(model: &str, provider: &str) -> Self {
        Route {
            model: route::model(Some(model), None).into_owned(),
            provider: route::provider(Some(provider)).into_owned(),
            count: AtomicU64::new(0),
        }
    }

    fn add(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug)]
pub(super) struct RouteTable {
    routes: HashMap<RawRoute, Arc<Route>, foldhash::fast::RandomState>,
    /// Counts pairs beyond the limit.
    overflow: Route,
}

impl Default for RouteTable {
    fn default() -> Self {
        RouteTable {
            routes: HashMap::with_hasher(foldhash::fast::RandomState::default()),
            overflow: Route::new(UNKNOWN, UNKNOWN),
        }
    }
}

impl RouteTable {
    #[inline]
    pub(super) fn add(&self, model: &str, provider: &str) {
        match self.routes.pin().get(&RawRouteRef { model, provider }) {
            Some(route) => route.add(),
            None => self.add_new(model, provider),
        }
    }

    #[cold]
    fn add_new(&self, model: &str, provider: &str) {
        if self.routes.len() >= MAX_ROUTES {
            return self.overflow.add();
        }
        let pair = RawRoute { model: model.into(), provider: provider.into() };
        let routes = self.routes.pin();
        routes.get_or_insert_with(pair, || Arc::new(Route::new(model, provider))).add();
    }

    /// Takes all counts and resets them to zero.
    pub(super) fn drain(&self, mut take: impl FnMut(Counter, u64)) {
        let routes = self.routes.pin();
        for route in routes.values().map(Arc::as_ref).chain([&self.overflow]) {
            let count = route.count.swap(0, Ordering::SeqCst);
            if count > 0 {
                let (model, provider) = (route.model.clone(), route.provider.clone());
                take(Counter::Route { model, provider }, count);
            }
        }
    }
}

#[cfg(test)]
mod tests;
