//! Limits on concurrent pages, in total and per host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::Fault;

/// The most hosts that are counted before idle ones are dropped.
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
    pub(crate) fn try_acquire(&self) -> Result<OwnedSemaphorePermit, Fault> {
        self.all.clone().try_acquire_owned().map_err(|_| Fault::Busy)
    }

    /// Waits for a permit of a host.
    pub(crate) async fn acquire_host(&self, host: &str) -> Result<OwnedSemaphorePermit, Fault> {
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
mod tests {
    use super::*;

    #[tokio::test]
    async fn idle_hosts_are_dropped() {
        let limits = Concurrency::new(1, 1);
        let busy = limits.acquire_host("busy").await.unwrap();
        for number in 0..MAX_IDLE_HOSTS * 2 {
            drop(limits.acquire_host(&format!("host{number}")).await.unwrap());
        }
        assert!(limits.hosts.lock().unwrap().len() <= MAX_IDLE_HOSTS);
        assert!(limits.hosts.lock().unwrap().contains_key("busy"));
        drop(busy);
    }

    #[tokio::test]
    async fn requests_beyond_the_limit_are_refused() {
        let limits = Concurrency::new(1, 1);
        let one = limits.try_acquire().unwrap();
        assert_eq!(limits.try_acquire().unwrap_err(), Fault::Busy);
        drop(one);
        assert!(limits.try_acquire().is_ok());
    }
}
