//! How many workers one owner may use at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many owners are counted before those without a job are forgotten.
const MAX_IDLE_OWNERS: usize = 1024;

/// The workers that each owner uses.
#[derive(Debug)]
pub(super) struct Shares {
    owners: Mutex<HashMap<Option<i64>, Arc<Semaphore>>>,
    per_owner: usize,
}

impl Shares {
    pub(super) fn new(per_owner: usize) -> Self {
        Self { owners: Mutex::default(), per_owner }
    }

    /// Waits until this owner may use another worker.
    pub(super) async fn take(&self, owner: Option<i64>) -> Option<OwnedSemaphorePermit> {
        let share = {
            let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            if owners.len() >= MAX_IDLE_OWNERS {
                owners.retain(|_, share| Arc::strong_count(share) > 1);
            }
            let new = || Arc::new(Semaphore::new(self.per_owner));
            owners.entry(owner).or_insert_with(new).clone()
        };
        share.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_owner_without_a_job_is_forgotten() {
        let shares = Shares::new(1);
        let busy = shares.take(Some(-1)).await.unwrap();
        for owner in 0..2 * i64::try_from(MAX_IDLE_OWNERS).unwrap() {
            drop(shares.take(Some(owner)).await.unwrap());
        }
        let owners = shares.owners.lock().unwrap();
        assert!(owners.len() <= MAX_IDLE_OWNERS && owners.contains_key(&Some(-1)));
        drop(busy);
    }
}
