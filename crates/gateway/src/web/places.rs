//! How many pages are read at once, in all and of one host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::Fault;

/// How many hosts are counted before those that nobody reads from are forgotten.
const MAX_IDLE_HOSTS: usize = 1024;

/// Places for readings.
#[derive(Debug)]
pub(crate) struct Places {
    all: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
    per_host: usize,
}

impl Places {
    pub(crate) fn new(all: u32, per_host: u32) -> Self {
        let count = |number: u32| usize::try_from(number).unwrap_or(1);
        let hosts = Mutex::default();
        Self { all: Arc::new(Semaphore::new(count(all))), hosts, per_host: count(per_host) }
    }

    /// A place among all readings, if there is one.
    pub(crate) fn enter(&self) -> Result<OwnedSemaphorePermit, Fault> {
        self.all.clone().try_acquire_owned().map_err(|_| Fault::Busy)
    }

    /// Waits for a place among those that read from a host.
    pub(crate) async fn at(&self, host: &str) -> Result<OwnedSemaphorePermit, Fault> {
        let places = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            if hosts.len() >= MAX_IDLE_HOSTS {
                hosts.retain(|_, places| Arc::strong_count(places) > 1);
            }
            let new = || Arc::new(Semaphore::new(self.per_host));
            hosts.entry(host.to_owned()).or_insert_with(new).clone()
        };
        places.acquire_owned().await.map_err(|_| Fault::Busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hosts_that_nobody_reads_from_are_forgotten() {
        let places = Places::new(1, 1);
        let busy = places.at("busy").await.unwrap();
        for number in 0..MAX_IDLE_HOSTS * 2 {
            drop(places.at(&format!("host{number}")).await.unwrap());
        }
        assert!(places.hosts.lock().unwrap().len() <= MAX_IDLE_HOSTS);
        assert!(places.hosts.lock().unwrap().contains_key("busy"));
        drop(busy);
    }

    #[tokio::test]
    async fn there_is_no_place_beyond_the_last() {
        let places = Places::new(1, 1);
        let one = places.enter().unwrap();
        assert_eq!(places.enter().unwrap_err(), Fault::Busy);
        drop(one);
        assert!(places.enter().is_ok());
    }
}
