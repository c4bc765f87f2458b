//! Limits the workers that one owner uses at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of owners above which those without a job are removed.
const MAX_IDLE_OWNERS: usize = 1024;

#[derive(Debug)]
pub(super) struct OwnerLimits {
    owners: Mutex<HashMap<Option<i64>, Arc<Semaphore>>>,
    per_owner: usize,
}

impl OwnerLimits {
    pub(super) fn new(per_owner: usize) -> Self {
        Self { owners: Mutex::default(), per_owner }
    }

    /// Waits until the owner may use another worker.
    pub(super) async fn acquire(&self, owner: Option<i64>) -> Option<OwnedSemaphorePermit> {
        let semaphore = {
            let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            if owners.len() >= MAX_IDLE_OWNERS {
                owners.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
            }
            let new = || Arc::new(Semaphore::new(self.per_owner));
            owners.entry(owner).or_insert_with(new).clone()
        };
        semaphore.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests;
