//! The folder of the store: paths, permissions and replacement of files.
//!
//! Only SQLite opens the database file: closing another descriptor in the same process would drop
//! SQLite's locks. This module only inspects, moves and renames it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::{BUSY_WAIT, Error, Result};
use crate::clock::Timestamp;

/// Suffixes of the database and the files of SQLite next to it.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

const LOCK_POLL: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFolder {
    root: PathBuf,
}

/// Identity and modification time of a file, to detect changes by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl StoreFolder {
    /// The folder at this path; nothing is touched.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        StoreFolder { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("metrics.sqlite3")
    }

    pub fn outbox(&self) -> PathBuf {
        self.root.join("outbox")
    }

    pub fn set_aside(&self) -> PathBuf {
        self.root.join("set-aside")
    }

    pub fn package(&self, package_id: &str) -> PathBuf {
        self.outbox().join(format!("{package_id}.json"))
    }

    pub fn exists(&self) -> bool {
        self.root.is_dir()
    }

    /// Creates the folders with access for the owner only.
    pub(super) fn make(&self) -> Result<()> {
        for path in [self.root.clone(), self.outbox()] {
            make_private(&path)?;
        }
        Ok(())
    }

    /// Creates the outbox if it is missing, but not its parent, so that a purge is final.
    pub(super) fn make_outbox(&self) -> Result<()> {
        let outbox = self.outbox();
        match fs::create_dir(&outbox) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::io(&outbox, source))
            }
            _ => restrict(&outbox, 0o700),
        }
    }

    /// Prevents other processes from creating or replacing the store until the guard is dropped.
    pub(super) fn lock(&self) -> Result<File> {
        let path = self.root.join("lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        options.mode(0o600);
        let file = options.open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::Gone,
            _ => Error::io(&path, source),
        })?;
        let deadline = Instant::now() + BUSY_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(LOCK_POLL);
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Busy),
                Err(TryLockError::Error(source)) => return Err(Error::io(&path, source)),
            }
        }
    }

    pub(super) fn fingerprint(&self) -> Option<Fingerprint> {
        let metadata = fs::metadata(self.database()).ok()?;
        Some(Fingerprint {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }

    /// Why no file can be created in the folder, if so.
    pub(super) fn obstacle(&self) -> Option<Error> {
        let attempt = tempfile::tempfile_in(&self.root);
        attempt.err().map(|source| Error::io(&self.root, source))
    }

    /// Moves the database and its companions away; returns their new path.
    pub(super) fn move_aside(&self, now: Timestamp) -> Result<PathBuf> {
        let parent = self.set_aside();
        make_private(&parent)?;
        let stamp = now.to_string().replace(':', "");
        // A number keeps names unique if the clock does not advance.
        let mut target = parent.join(&stamp);
        let mut number = 1;
        while target.exists() {
            number += 1;
            target = parent.join(format!("{stamp}-{number}"));
        }
        make_private(&target)?;
        for suffix in COMPANIONS {
            let from = companion(&self.database(), suffix);
            if let Some(name) = from.file_name() {
                match fs::rename(&from, target.join(name)) {
                    Err(source) if source.kind() != io::ErrorKind::NotFound => {
                        return Err(Error::io(&from, source));
                    }
                    _ => {}
                }
            }
        }
        Ok(target)
    }

    pub fn stores_set_aside(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.set_aside()).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }

    pub(super) fn discard(path: &Path) {
        for suffix in COMPANIONS {
            // Missing files are fine; other errors are reported by the next step.
            let _ = fs::remove_file(companion(path, suffix));
        }
    }

    /// Removes the folder atomically: it is renamed first, so that no other process finds half of
    /// it and recreates the rest.
    pub fn purge(&self) -> Result<()> {
        // The folder may be a symbolic link.
        let root = match fs::canonicalize(&self.root) {
            Ok(root) => root,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(Error::io(&self.root, source)),
        };
        // Waits for a process that is creating a store.
        let lock = self.lock();
        let parent = root.parent().unwrap_or(Path::new("/"));
        let doomed = tempfile::Builder::new()
            .prefix(".purge-")
            .tempdir_in(parent)
            .map_err(|source| Error::io(parent, source))?;
        fs::rename(&root, doomed.path().join("metrics"))
            .map_err(|source| Error::io(&root, source))?;
        drop(lock);
        if self.root.is_symlink() {
            fs::remove_file(&self.root).map_err(|source| Error::io(&self.root, source))?;
        }
        let path = doomed.path().to_owned();
        doomed.close().map_err(|source| Error::io(&path, source))
    }
}

pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        // Temporary files are private.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|source| Error::io(path, source))
}

fn companion(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn make_private(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    builder.mode(0o700);
    builder.create(path).map_err(|source| Error::io(path, source))?;
    restrict(path, 0o700)
}

/// Removes the permissions of others; the owner keeps those of `mode`.
pub(super) fn restrict(path: &Path, mode: u32) -> Result<()> {
    let now = fs::metadata(path).map_err(|source| Error::io(path, source))?.permissions();
    if now.mode() & 0o777 != mode {
        let wanted = fs::Permissions::from_mode(mode);
        fs::set_permissions(path, wanted).map_err(|source| Error::io(path, source))?;
    }
    Ok(())
}
