//! One process at a time renews the tokens of a server.

use std::fs::{File, OpenOptions, TryLockError};
use std::time::Duration;

use tokio::time::Instant;

use super::file::Place;
use crate::error::oauth::Error;

/// How long another process is waited for; then nothing is renewed, rather than renewed twice.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// How often it is looked whether it has finished.
const PAUSE: Duration = Duration::from_millis(20);

/// The right to renew, until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The system lets go of the lock with the file, also when the process is killed.
    _file: File,
}

impl Lock {
    pub(super) async fn take(place: &Place) -> Result<Self, Error> {
        let cannot = |error| place.cannot_be("locked", error);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let file = place.open(&place.path, &mut options).map_err(cannot)?;
        let end = Instant::now() + MAX_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Busy { after: MAX_WAIT }),
                Err(TryLockError::Error(error)) => return Err(cannot(error)),
            }
        }
    }
}
