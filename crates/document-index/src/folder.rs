//! The folder of an index: one database file, and a lock that makes one process the writer.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::PathBuf;

const LOCK: &str = "writer.lock";
const PREFIX: &str = "index-";
const SUFFIX: &str = ".db";

#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

/// Holds the writer role among all processes, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Folder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Acquires the writer lock, if free.
    pub(crate) fn lock(&self) -> io::Result<Option<Lock>> {
        fs::create_dir_all(&self.root)?;
        let file =
            File::options().create(true).truncate(false).write(true).open(self.root.join(LOCK))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(crate) fn current(&self) -> Option<PathBuf> {
        let names = fs::read_dir(&self.root).ok()?.flatten().map(|entry| entry.file_name());
        let mut names = names.filter_map(|name| name.into_string().ok());
        let is_database = |name: &String| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        names.find(is_database).map(|name| self.root.join(name))
    }

    /// Removes all index files, those of the previous version included, and returns the path of a new
    /// one. SQLite finds the journal of a database by its name, so a name is never reused: a process
    /// may still have the old file open.
    pub(crate) fn replace(&self, _lock: &Lock) -> io::Result<PathBuf> {
        for entry in fs::read_dir(&self.root)?.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let removed = if name.starts_with(PREFIX) || name == "current" {
                fs::remove_file(entry.path())
            } else if name.starts_with("v1-") {
                fs::remove_dir_all(entry.path())
            } else {
                continue;
            };
            if let Err(error) = removed {
                tracing::warn!(%error, name, "cannot remove old index");
            }
        }
        Ok(self.root.join(format!("{PREFIX}{:016x}{SUFFIX}", fastrand::u64(..))))
    }
}

#[cfg(test)]
mod tests;
