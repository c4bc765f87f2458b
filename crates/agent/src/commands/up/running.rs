//! The running service of a profile's `agent up`: a file that is locked while it runs.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::config::made_folder_of;
use crate::diagnostic::{Diagnostic, Result};
use crate::home::unwritable;
use crate::session::Session;

/// The lock file; it is kept, and is empty while nothing runs.
const NAME: &str = "up.lock";
const MAX_BYTES: u64 = 4096;
/// Maximum time that a reader may hold the lock.
const MAX_LOOK: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    /// The listen address, once known.
    pub(crate) address: Option<String>,
}

#[derive(Debug)]
pub(super) struct ServiceLock {
    /// The system releases the lock with the file, also when the process is killed.
    file: File,
    path: PathBuf,
}

impl ServiceLock {
    /// Takes the lock, unless the service runs.
    pub(super) fn take(session: &Session) -> Result<Self> {
        let path = session.home()?.gateway().join(NAME);
        let file = made_folder_of(&path).and_then(|_| open(&path, true));
        let file = file.map_err(|error| cannot(&path, &error))?;
        let deadline = Instant::now() + MAX_LOOK;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // A command that checks whether the service runs holds the lock for a moment.
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(runs_already(&path)),
                Err(TryLockError::Error(error)) => return Err(cannot(&path, &error)),
            }
        }
        let claim = Self { file, path };
        claim.report(None)?;
        Ok(claim)
    }

    pub(super) fn report(&self, address: Option<SocketAddr>) -> Result {
        let address = address.map(|address| address.to_string());
        let running = Running { pid: std::process::id(), address };
        let text = serde_json::to_vec(&running).unwrap_or_default();
        let mut file = &self.file;
        let written = file.rewind().and_then(|()| file.write_all(&text));
        let written = written.and_then(|()| file.set_len(text.len() as u64));
        written.map_err(|error| cannot(&self.path, &error))
    }
}

impl Drop for ServiceLock {
    fn drop(&mut self) {
        // An unlocked file is never read.
        let _ = self.file.set_len(0);
    }
}

#[derive(Debug)]
pub(crate) struct RunningService {
    pub(crate) file: File,
    path: PathBuf,
}

impl RunningService {
    /// Finds the service of the profile, if it runs.
    pub(crate) fn find(session: &Session) -> Result<Option<Self>> {
        let path = session.home()?.gateway().join(NAME);
        let file = match open(&path, false) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(&path, &error)),
        };
        let held = Self { file, path };
        Ok(held.is_held()?.then_some(held))
    }

    pub(crate) fn is_held(&self) -> Result<bool> {
        match self.file.try_lock_shared() {
            Ok(()) => {
                // Release it at once, so that a starting service does not find it locked.
                let _ = self.file.unlock();
                Ok(false)
            }
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(cannot(&self.path, &error)),
        }
    }

    /// Its description, unless it is being written.
    pub(crate) fn running(&self) -> Option<Running> {
        let deadline = Instant::now() + MAX_LOOK;
        loop {
            match read(&self.path) {
                Some(running) => return Some(running),
                None if Instant::now() < deadline => thread::sleep(PAUSE),
                None => return None,
            }
        }
    }
}

fn open(path: &Path, is_made: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(is_made).truncate(false).mode(0o600).open(path)
}

fn read(path: &Path) -> Option<Running> {
    let text = io::read_to_string(File::open(path).ok()?.take(MAX_BYTES)).ok()?;
    serde_json::from_str(&text).ok()
}

fn runs_already(path: &Path) -> Diagnostic {
    let whom = read(path).map_or_else(String::new, |running| {
        let at = running.address.map_or_else(String::new, |at| format!(" at http://{at}"));
        format!("{at}, as process {}", running.pid)
    });
    Diagnostic::failed(format!("the service of this profile runs already{whom}"))
        .hint("use it, or stop it with `agent down`")
}

fn cannot(path: &Path, error: &io::Error) -> Diagnostic {
    unwritable(Diagnostic::failed(format!("cannot write {}", path.display())), error)
}
