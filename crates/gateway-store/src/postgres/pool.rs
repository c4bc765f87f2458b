//! A few connections for everything that is not a batch.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::address::Address;
use super::fault::too_late;
use super::link::Link;
use crate::backend::Result;
use crate::{Error, ErrorKind};

/// Connections, at most so many.
#[derive(Debug)]
pub(super) struct Pool {
    address: Arc<Address>,
    places: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Link>>>,
}

/// A connection that is in use. Dropped without [`Taken::done`], it is closed: nobody knows what
/// it is busy with.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) link: Link,
    idle: Arc<Mutex<Vec<Link>>>,
    place: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(address: Arc<Address>, size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Self { address, places: Arc::new(Semaphore::new(size)), idle: Arc::default() }
    }

    /// A connection: one that is idle, or a new one.
    pub(super) async fn take(&self) -> Result<Taken> {
        let place = timeout(self.address.wait(), Arc::clone(&self.places).acquire_owned()).await;
        let place = place.map_err(|_| too_late())?.map_err(|_| Error::Closed)?;
        let link = match self.idle_link() {
            Some(link) => link,
            None => Link::open(&self.address).await?,
        };
        Ok(Taken { link, idle: Arc::clone(&self.idle), place })
    }

    fn idle_link(&self) -> Option<Link> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|link| !link.is_closed());
        idle.pop()
    }

    /// No more connections; those in use end with their work.
    pub(super) fn close(&self) {
        self.places.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Taken {
    /// Gives the connection back if it is certainly outside a transaction: after a success, or
    /// after a refusal of our own, whose transaction was undone when it was dropped. Any other
    /// failure may have come in the middle of one; the server undoes it when the connection is
    /// closed.
    pub(super) fn done<T>(self, result: Result<T>) -> Result<T> {
        let is_outside =
            result.as_ref().map_or_else(|error| error.kind() == ErrorKind::Caller, |_| true);
        if is_outside && !self.link.is_closed() && !self.place.semaphore().is_closed() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.link);
        }
        result
    }
}
