//! Answers that a stateless server said may be kept for a while.
//!
//! The cache lives in the session and dies with it, so nothing is ever served of a server that is
//! gone. Any change of a list empties it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::message::Payload;

/// The most answers kept.
const MAX_ANSWERS: usize = 64;
/// The largest answer kept.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// The longest an answer is kept, whatever the server says.
const MAX_AGE: Duration = Duration::from_hours(1);

#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<String, (Payload, Instant)>,
    generation: Generation,
}

/// Between two changes. An answer that was asked for in an earlier one is not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Generation(u64);

impl Cache {
    pub(super) fn find(&self, key: &str) -> Option<Payload> {
        let kept = self.lock();
        let (answer, until) = kept.answers.get(key)?;
        (*until > Instant::now()).then(|| answer.clone())
    }

    pub(super) fn generation(&self) -> Generation {
        self.lock().generation
    }

    pub(super) fn keep(&self, key: String, answer: &Payload, asked_in: Generation) {
        let Some(ttl) = ttl(answer) else { return };
        if answer.text().len() > MAX_ANSWER_BYTES {
            return;
        }
        let now = Instant::now();
        let mut kept = self.lock();
        kept.answers.retain(|_, (_, until)| *until > now);
        if kept.answers.len() < MAX_ANSWERS && kept.generation == asked_in {
            kept.answers.insert(key, (answer.clone(), now + ttl.min(MAX_AGE)));
        }
    }

    pub(super) fn clear(&self) {
        let mut kept = self.lock();
        kept.answers.clear();
        kept.generation.0 += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ttl(answer: &Payload) -> Option<Duration> {
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
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_as_long_as_the_server_said_and_no_longer() {
        let cache = Cache::default();
        let answer = Payload::of(&json!({ "ttlMs": 1500.0, "tools": [] }));
        cache.keep("a".to_owned(), &answer, cache.generation());
        assert_eq!(cache.find("a"), Some(answer.clone()));
        tokio::time::advance(Duration::from_millis(1400)).await;
        assert!(cache.find("a").is_some());
        tokio::time::advance(Duration::from_millis(200)).await;
        assert!(cache.find("a").is_none());
        for none in
            [json!({}), json!({ "ttlMs": -5 }), json!({ "ttlMs": 0 }), json!({ "ttlMs": "9" })]
        {
            cache.keep("b".to_owned(), &Payload::of(&none), cache.generation());
            assert_eq!(cache.find("b"), None, "{none}");
        }
        let before = cache.generation();
        cache.keep("c".to_owned(), &answer, before);
        cache.clear();
        assert_eq!(cache.find("c"), None);
        cache.keep("d".to_owned(), &answer, before);
        assert_eq!(cache.find("d"), None, "it was asked for before the change");
    }
}
