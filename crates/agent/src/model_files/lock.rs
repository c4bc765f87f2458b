//! One process at a time changes the folder of the models.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::model_dir::ModelDir;
use crate::diagnostic::Diagnostic;

/// The file that is locked; it is empty and stays.
const NAME: &str = ".lock";
/// How long another process is waited for: what it fetches may be large and come slowly.
const MAX_WAIT: Duration = Duration::from_mins(30);
const PAUSE: Duration = Duration::from_millis(100);

/// The right to change the folder, until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The system lets go of the lock with the file, also when the process is killed.
    _file: File,
}

/// Waits for the lock; calls `wait` once if another process holds it.
pub(crate) async fn take(shelf: &ModelDir, wait: impl FnOnce()) -> Result<Lock, Diagnostic> {
    shelf.make()?;
    let path = shelf.folder().join(NAME);
    let cannot = |error: &io::Error| {
        Diagnostic::failed(format!("cannot lock {}", path.display())).because(error)
    };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let file = file.map_err(|error| cannot(&error))?;
    let deadline = Instant::now() + MAX_WAIT;
    let mut wait = Some(wait);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                if let Some(wait) = wait.take() {
                    wait();
                }
                sleep(PAUSE).await;
            }
            Err(TryLockError::WouldBlock) => {
                let what = format!("another process is changing {}", shelf.folder().display());
                return Err(Diagnostic::failed(what).hint("try again when it has finished"));
            }
            Err(TryLockError::Error(error)) => return Err(cannot(&error)),
        }
    }
}
