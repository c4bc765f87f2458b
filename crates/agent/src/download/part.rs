//! The part file beside the destination: one process writes it, and its content is hashed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use rustix::fs::{OFlags, fstatvfs};
use tempfile::TempPath;

use super::digest::{self, Digest};
use super::{Destination, Error};
use crate::download::{OnConflict, folder_of, free_bytes};

/// Maximum retries if the file vanishes between opening and locking.
const MAX_OPENED: usize = 8;
/// Readable by its owner only while incomplete.
const MODE: u32 = 0o600;

/// An incomplete file, locked until dropped.
pub(super) struct Part {
    /// The system releases the lock with the file, also when the process is killed.
    file: File,
    path: PathBuf,
    /// Expected length in bytes.
    expected: u64,
    /// Current length in bytes, all of them hashed.
    length: u64,
    hashed: Context,
}

impl Part {
    /// Opens the part file of a destination, and hashes its existing content.
    pub(super) fn open(target: &Path, expected: u64) -> Result<Self, Error> {
        let path = target.with_added_extension("part");
        let file = locked(&path)?;
        let hashed = Context::new(&SHA256);
        let mut part = Self { file, path, expected, length: 0, hashed };
        let found = part.take_up();
        found.map_err(|error| Error::of_file(&part.path, &error))?;
        if part.length > expected {
            part.clear()?;
        }
        Ok(part)
    }

    fn take_up(&mut self) -> io::Result<()> {
        self.file.set_permissions(fs::Permissions::from_mode(MODE))?;
        if self.file.metadata()?.len() > self.expected {
            self.file.set_len(0)?;
        }
        self.file.seek(SeekFrom::Start(0))?;
        (self.length, self.hashed) = digest::hash(&mut self.file)?;
        Ok(())
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn digest(&self) -> Digest {
        Digest::of(&self.hashed)
    }

    /// Checks free space, where the system reports it.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), Error> {
        let Ok(disk) = fstatvfs(&self.file) else { return Ok(()) };
        let needed_bytes = bytes - self.length.min(bytes);
        if free_bytes(&disk).is_some_and(|free| free < needed_bytes) {
            return Err(Error::NoRoom { path: self.path.clone(), needed_bytes });
        }
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| Error::of_file(&self.path, &error))?;
        self.hashed.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn clear(&mut self) -> Result<(), Error> {
        let cleared = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        cleared.map_err(|error| Error::of_file(&self.path, &error))?;
        (self.length, self.hashed) = (0, Context::new(&SHA256));
        Ok(())
    }

    /// The error after the last attempt.
    pub(super) fn given_up(&self, reason: &str) -> Error {
        let (got, expected, part) = (self.length, self.expected, self.path.clone());
        Error::GaveUp { reason: reason.to_owned(), got, expected, part }
    }

    pub(super) fn discard(self) {
        // The next attempt would check and remove a leftover.
        let _ = fs::remove_file(&self.path);
    }

    /// Syncs it and moves it to its destination.
    pub(super) fn publish(self, place: &Destination<'_>) -> Result<(), Error> {
        let failed = |error: &io::Error| Error::of_file(place.path, error);
        let ready = self.file.set_permissions(fs::Permissions::from_mode(place.mode));
        ready.and_then(|()| self.file.sync_all()).map_err(|error| failed(&error))?;
        match place.existing {
            OnConflict::Replace => fs::rename(&self.path, place.path),
            OnConflict::Keep => without_replacing(&self.path, place.path),
        }
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: place.path.to_owned() },
            _ => failed(&error),
        })?;
        // The file is complete and in place; a failed sync of its folder is minor.
        let _ = File::open(folder_of(place.path)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

fn locked(path: &Path) -> Result<File, Error> {
    let failed = |error: &io::Error| Error::of_file(path, error);
    for _ in 0..MAX_OPENED {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(MODE);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
        let file = match options.open(path) {
            Ok(file) => file,
            // A link, or something that is not writable.
            Err(_) if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) => {
                return Err(Error::Foreign { path: path.to_owned() });
            }
            Err(error) => return Err(failed(&error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        let ours = file.metadata().map_err(|error| failed(&error))?;
        // The previous lock holder may have moved it to its destination, or removed it.
        let is_it = fs::symlink_metadata(path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (ours.dev(), ours.ino()));
        if is_it && ours.is_file() && ours.nlink() == 1 {
            return Ok(file);
        }
        if is_it {
            return Err(Error::Foreign { path: path.to_owned() });
        }
    }
    Err(Error::Busy { path: path.to_owned() })
}

fn without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    TempPath::try_from_path(from)?.persist_noclobber(to).map_err(|failed| {
        // Keep the part file for the next attempt.
        let _ = failed.path.keep();
        failed.error
    })
}
