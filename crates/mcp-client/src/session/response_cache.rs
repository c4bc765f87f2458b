//! Responses that a stateless server declared cacheable by `ttlMs`.
//!
//! The cache belongs to the session, so that nothing outlives its server, and is cleared by any
//! list change. It is smaller than a general cache crate: 64 entries, and a generation that rejects
//! responses requested before a change.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::message::RawJson;
use crate::sync::lock;

const MAX_ENTRIES: usize = 64;
const MAX_ENTRY_BYTES: usize = 1024 * 1024;
const MAX_AGE: Duration = Duration::from_hours(1);

#[derive(Debug, Default)]
pub(super) struct ResponseCache(Mutex<CachedResponses>);

#[derive(Debug, Default)]
struct CachedResponses {
    answers: HashMap<String, (RawJson, Instant)>,
    /// Counts list changes. A response that was requested in an earlier generation is not cached.
    generation: u64,
}

impl ResponseCache {
    pub(super) fn find(&self, key: &str) -> Option<RawJson> {
        let kept = lock(&self.0);
        let (answer, until) = kept.answers.get(key)?;
        (*until > Instant::now()).then(|| answer.clone())
    }

    pub(super) fn generation(&self) -> u64 {
        lock(&self.0).generation
    }

    pub(super) fn keep(&self, key: String, answer: &RawJson, asked_in: u64) {
        let Some(ttl) = ttl(answer) else { return };
        if answer.text().len() > MAX_ENTRY_BYTES {
            return;
        }
        let now = Instant::now();
        let mut kept = lock(&self.0);
        kept.answers.retain(|_, (_, until)| *until > now);
        if kept.answers.len() < MAX_ENTRIES && kept.generation == asked_in {
            kept.answers.insert(key, (answer.clone(), now + ttl.min(MAX_AGE)));
        }
    }

    pub(super) fn clear(&self) {
        let mut kept = lock(&self.0);
        kept.answers.clear();
        kept.generation += 1;
    }
}

fn ttl(answer: &RawJson) -> Option<Duration> {
    #[derive(serde::Deserialize)]
    struct Hint {
        #[serde(rename = "ttlMs")]
        ttl_ms: Option<f64>,
    }
    let hint: Hint = serde_json::from_str(answer.text()).ok()?;
    let ttl = hint.ttl_ms.filter(|ttl| ttl.is_finite() && *ttl >= 1.0)?;
    Some(Duration::from_secs_f64((ttl / 1000.0).min(MAX_AGE.as_secs_f64())))
}

#[cfg(test)]
mod tests;
