//! The lock that serializes renewals across processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::time::Duration;

use tokio::time::Instant;

use super::private_file::PrivateFile;
use crate::error::oauth::Error;

/// How long to wait for another process; then the renewal fails rather than run twice.
const MAX_WAIT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct RenewalLock {
    /// The system releases the lock with the file, also if the process is killed.
    _file: File,
}

impl RenewalLock {
    pub(super) async fn take(place: &PrivateFile) -> Result<Self, Error> {
        let cannot = |error| place.cannot_be("locked", error);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let file = place.open(&place.path, &mut options).map_err(cannot)?;
        let end = Instant::now() + MAX_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Busy { after: MAX_WAIT }),
                Err(TryLockError::Error(error)) => return Err(cannot(error)),
            }
        }
    }
}
