//! Files that are replaced atomically and readable by their owner only, and the lock that serializes
//! renewals across processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::oauth::Error;

const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Space reserved for new tokens beyond the size of the old ones.
const MARGIN_BYTES: u64 = 16 * 1024;
/// Maximum wait for another process; then the renewal fails rather than run twice.
const MAX_WAIT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) const BACKUP_SUFFIX: &str = ".bak";

#[derive(Debug, Clone)]
pub(super) struct PrivateFile {
    pub(super) path: PathBuf,
}

impl PrivateFile {
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    pub(super) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut room = ReservedFile::empty(self)?;
        room.file.write_all(bytes)?;
        room.replace()
    }

    /// Removes temporary files of killed processes. The caller holds the lock under which the file
    /// is written.
    pub(super) fn sweep(&self) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let start = format!(".{name}.");
        for found in fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            let name = found.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&start) && name.ends_with(".tmp") {
                // A leftover only takes up space.
                let _ = fs::remove_file(found.path());
            }
        }
    }

    pub(super) fn back_up(&self) {
        let mut name = self.path.clone().into_os_string();
        name.push(BACKUP_SUFFIX);
        // If this fails, the following write fails and reports it.
        let _ = fs::rename(&self.path, name);
    }

    pub(super) fn error(&self, what: &'static str, source: io::Error) -> Error {
        Error::Store { path: self.path.clone(), what, source }
    }

    pub(super) fn open(&self, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        private_folder(self.folder())?;
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
        options.open(path)
    }
}

/// A temporary file with reserved disk space that replaces another file.
#[derive(Debug)]
pub(crate) struct ReservedFile {
    file: File,
    temporary: PathBuf,
    place: PrivateFile,
}

impl ReservedFile {
    pub(super) fn make(place: &PrivateFile) -> io::Result<Self> {
        let mut room = Self::empty(place)?;
        let length = fs::metadata(&place.path).map_or(0, |found| found.len());
        let bytes = length.min(MAX_FILE_BYTES) + MARGIN_BYTES;
        io::copy(&mut io::repeat(b' ').take(bytes), &mut room.file)?;
        room.file.sync_all()?;
        Ok(room)
    }

    fn empty(place: &PrivateFile) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = place.path.file_name().unwrap_or_default().to_string_lossy();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = place.folder().join(format!(".{name}.{}.{number}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let file = place.open(&temporary, &mut options)?;
        Ok(Self { file, temporary, place: place.clone() })
    }

    pub(super) fn fill(mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(bytes)?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.file.set_len(length)?;
        self.replace()
    }

    fn replace(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.place.path)?;
        // Not every system can sync a folder; the file itself is synced.
        let _ = File::open(self.place.folder()).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for ReservedFile {
    fn drop(&mut self) {
        // After a rename this finds nothing.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Creates the folder, or removes the permissions of others.
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mode = fs::metadata(folder)?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct RenewalLock {
    /// The system releases the lock with the file, also if the process is killed.
    _file: File,
}

impl RenewalLock {
    pub(super) async fn take(place: &PrivateFile) -> Result<Self, Error> {
        let cannot = |error| place.error("cannot lock", error);
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
