//! Usage by member and by team over all members, which takes seconds with a million of them.
//!
//! A page waits briefly for the figures, then renders without them and reloads. Slow figures
//! are cached for a few minutes and shared by all pages.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;
use wire::usage::UsageList;

use super::page::{PageError, PageResult};

/// How long a page waits for its figures.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// Maximum age of cached slow figures.
const MAX_AGE: Duration = Duration::from_mins(5);

#[derive(Debug, Default)]
pub(super) struct SlowUsage(Mutex<HashMap<String, Query>>);

#[derive(Debug)]
struct Query {
    since: Instant,
    answer: watch::Receiver<Option<Answer>>,
}

#[derive(Debug, Clone)]
struct Answer {
    list: UsageList,
    took: Duration,
}

impl Query {
    fn is_usable(&self) -> bool {
        let is_running = self.answer.has_changed().is_ok();
        let answer = self.answer.borrow();
        answer.as_ref().map_or(is_running, |Answer { took, .. }| {
            *took > MAX_WAIT && self.since.elapsed() < MAX_AGE + *took
        })
    }
}

impl SlowUsage {
    /// The usage from `ask`, or `None` if it is not ready yet.
    pub(super) async fn get(
        &self,
        name: String,
        ask: impl Future<Output = PageResult<UsageList>> + Send + 'static,
    ) -> PageResult<Option<UsageList>> {
        let mut answer = self.receiver(name, ask);
        let waiting = timeout(MAX_WAIT, answer.wait_for(Option::is_some)).await;
        match waiting {
            Ok(Ok(found)) => Ok(found.as_ref().map(|answer| answer.list.clone())),
            Ok(Err(_)) => Err(PageError::internal()),
            Err(_) => Ok(None),
        }
    }

    fn receiver(
        &self,
        name: String,
        ask: impl Future<Output = PageResult<UsageList>> + Send + 'static,
    ) -> watch::Receiver<Option<Answer>> {
        let mut queries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queries.retain(|_, query| query.is_usable());
        let begin = || {
            let (sender, answer) = watch::channel(None);
            let since = Instant::now();
            tokio::spawn(async move {
                // Without a result the channel closes, which is an error for all waiters.
                if let Ok(list) = ask.await {
                    sender.send_replace(Some(Answer { list, took: since.elapsed() }));
                }
            });
            Query { since, answer }
        };
        queries.entry(name).or_insert_with(begin).answer.clone()
    }
}

#[cfg(test)]
mod tests;
