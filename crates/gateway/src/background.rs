//! Responses that this process runs in the background: how each is cancelled, how those who follow
//! it learn that there is more, and how many may follow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ledger::LineageId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use wire::error::Code;

use crate::failure::ApiError;
use crate::service::Service;

/// The most responses that are followed with one key at once, in one process.
const MAX_FOLLOWED: u32 = 64;

/// All responses that run here, by id, and who follows any response.
#[derive(Debug, Default)]
pub(crate) struct Background {
    running: papaya::HashMap<String, Entry>,
    /// How many streams each key has.
    followers: Mutex<HashMap<LineageId, u32>>,
}

#[derive(Debug)]
struct Entry {
    cancelled: CancellationToken,
    news: News,
}

/// Changes when there are new events; closes when there will be none.
pub(crate) type News = watch::Receiver<()>;

/// A response that runs here until this is dropped.
pub(crate) struct Running {
    service: Arc<Service>,
    id: String,
    pub(crate) cancelled: CancellationToken,
    written: watch::Sender<()>,
}

/// Somebody who follows a response until this is dropped.
pub(crate) struct Follower {
    service: Arc<Service>,
    key: LineageId,
}

impl Background {
    /// Ends a response, if it runs here.
    pub(crate) fn cancel(&self, id: &str) {
        if let Some(entry) = self.running.pin().get(id) {
            entry.cancelled.cancel();
        }
    }

    /// What tells of new events; `None` if the response does not run here.
    pub(crate) fn news(&self, id: &str) -> Option<News> {
        self.running.pin().get(id).map(|entry| entry.news.clone())
    }

    fn followers(&self) -> MutexGuard<'_, HashMap<LineageId, u32>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Says that a response runs here from now on.
    pub(crate) fn start(service: &Arc<Service>, id: &str) -> Self {
        let (written, news) = watch::channel(());
        let cancelled = CancellationToken::new();
        let entry = Entry { cancelled: cancelled.clone(), news };
        service.background.running.pin().insert(id.to_owned(), entry);
        Self { service: service.clone(), id: id.to_owned(), cancelled, written }
    }

    /// Events were written: whoever follows is to look.
    pub(crate) fn wrote(&self) {
        self.written.send_replace(());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.service.background.running.pin().remove(&self.id);
    }
}

impl Follower {
    /// One more for this key, unless there are too many.
    pub(crate) fn admit(service: &Arc<Service>, key: LineageId) -> Result<Self, ApiError> {
        let mut followers = service.background.followers();
        let count = followers.entry(key).or_default();
        if *count >= MAX_FOLLOWED {
            let message = format!("this key may follow {MAX_FOLLOWED} responses at once");
            return Err(ApiError::new(Code::RateLimited, message));
        }
        *count += 1;
        Ok(Self { service: service.clone(), key })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut followers = self.service.background.followers();
        if let Some(count) = followers.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                followers.remove(&self.key);
            }
        }
    }
}
