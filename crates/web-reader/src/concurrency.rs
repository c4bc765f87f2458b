//! Limits on concurrent pages, in total and per host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::{Fault, Result};

/// Maximum number of counted hosts before idle ones are dropped.
const MAX_IDLE_HOSTS: usize = 1024;

#[derive(Debug)]
pub(crate) struct Concurrency {
    all: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
    per_host: usize,
}

impl Concurrency {
    pub(crate) fn new(all: u32, per_host: u32) -> Self {
        let count = |number: u32| usize::try_from(number).unwrap_or(1);
        let hosts = Mutex::default();
        Self { all: Arc::new(Semaphore::new(count(all))), hosts, per_host: count(per_host) }
    }

    /// A permit within the total limit, or an error.
    pub(crate) fn try_acquire(&self) -> Result<OwnedSemaphorePermit> {
        self.all.clone().try_acquire_owned().map_err(|_| Fault::Busy)
    }

    pub(crate) async fn acquire_host(&self, host: &str) -> Result<OwnedSemaphorePermit> {
        let permits = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            if hosts.len() >= MAX_IDLE_HOSTS {
                hosts.retain(|_, permits| Arc::strong_count(permits) > 1);
            }
            let new = || Arc::new(Semaphore::new(self.per_host));
            hosts.entry(host.to_owned()).or_insert_with(new).clone()
        };
        permits.acquire_owned().await.map_err(|_| Fault::Busy)
    }
}

#[cfg(test)]
mod tests;
