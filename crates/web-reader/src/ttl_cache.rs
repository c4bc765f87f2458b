//! A cache with limits of age, entries and bytes. The oldest entries are evicted first.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy)]
pub struct CacheLimits {
    /// Lifetime of entries; zero disables the cache.
    pub max_age: Duration,
    pub max_entries: usize,
    /// Maximum bytes of all entries, as counted by the caller.
    pub max_bytes: usize,
}

#[derive(Debug)]
pub struct TtlCache<K, V> {
    limits: CacheLimits,
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Keys by insertion number: the oldest first.
    order: BTreeMap<u64, K>,
    bytes: usize,
    next: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    number: u64,
    since: Instant,
    bytes: usize,
}

impl<K: Clone + Eq + Hash, V: Clone> TtlCache<K, V> {
    pub fn new(limits: CacheLimits) -> Self {
        let (entries, order) = (HashMap::new(), BTreeMap::new());
        Self { limits, state: Mutex::new(State { entries, order, bytes: 0, next: 0 }) }
    }

    pub fn get(&self, key: &K) -> Option<V> {
        self.get_within(key, self.limits.max_age)
    }

    /// The value of a key, if also younger than this.
    pub fn get_within(&self, key: &K, max_age: Duration) -> Option<V> {
        let mut state = self.state();
        state.evict_expired(self.limits.max_age);
        let entry = state.entries.get(key)?;
        (entry.since.elapsed() < max_age).then(|| entry.value.clone())
    }

    /// Sets the value of a key, which takes this many bytes. One that is too large is not cached.
    pub fn insert(&self, key: K, value: V, bytes: usize) {
        let CacheLimits { max_age, max_entries, max_bytes } = self.limits;
        if max_age.is_zero() || bytes > max_bytes {
            return;
        }
        let mut state = self.state();
        if let Some(replaced) = state.entries.get(&key).map(|entry| entry.number) {
            state.remove(replaced);
        }
        state.evict_expired(max_age);
        while state.entries.len() >= max_entries || state.bytes + bytes > max_bytes {
            let Some(oldest) = state.order.keys().next().copied() else { return };
            state.remove(oldest);
        }
        let number = state.next;
        state.next += 1;
        state.bytes += bytes;
        state.order.insert(number, key.clone());
        state.entries.insert(key, Entry { value, number, since: Instant::now(), bytes });
    }

    /// The number of entries and their bytes.
    pub fn size(&self) -> (usize, usize) {
        let state = self.state();
        (state.entries.len(), state.bytes)
    }

    fn state(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash, V> State<K, V> {
    fn remove(&mut self, number: u64) {
        let key = self.order.remove(&number);
        if let Some(entry) = key.and_then(|key| self.entries.remove(&key)) {
            self.bytes -= entry.bytes;
        }
    }

    fn evict_expired(&mut self, max_age: Duration) {
        while let Some((&number, key)) = self.order.first_key_value() {
            if self.entries.get(key).is_some_and(|entry| entry.since.elapsed() < max_age) {
                return;
            }
            self.remove(number);
        }
    }
}

#[cfg(test)]
mod tests;
