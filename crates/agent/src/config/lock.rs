//! One editor at a time: an advisory lock on a file beside the configuration.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::made_folder_of;
use crate::diagnostic::{Diagnostic, Result};
use crate::home::unwritable;

/// The lock file; it is empty and is kept.
const NAME: &str = ".config.lock";
const MAX_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// The edit lock, until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The system releases the lock with the file, also when the process is killed.
    _file: File,
}

/// Locks the configuration at this path and the files beside it.
pub(crate) fn take(config: &Path) -> Result<Lock> {
    let cannot = |error: &io::Error| {
        let message = format!("cannot lock {} for editing", config.display());
        unwritable(Diagnostic::configuration(message), error)
    };
    let path = made_folder_of(config).map_err(|error| cannot(&error))?.join(NAME);
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(|error| cannot(&error))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) if begun.elapsed() < MAX_WAIT => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process is editing {}", config.display());
                return Err(Diagnostic::failed(message)
                    .hint(format!("it holds {}; try again when it has finished", path.display())));
            }
            Err(TryLockError::Error(error)) => return Err(cannot(&error)),
        }
    }
}
