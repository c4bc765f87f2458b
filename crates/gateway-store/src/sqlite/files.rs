//! The database file: the serving lock, backup and restore.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rustix::fs::FlockOperation;

use super::connection::{self, ConnectionMode};
use super::error::file_error;
use super::schema;
use crate::error::Result;
use crate::{Error, SchemaState, StoreOptions};

/// Acquires the serving lock, which is released when the returned file is closed.
pub(super) fn lock(path: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(with_suffix(path, ".lock")).map_err(file_error)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::InUse),
        Err(error) => Err(file_error(error.into())),
    }
}

pub(super) fn backup(connection: &Connection, to: &Path) -> Result<()> {
    if to.try_exists().map_err(file_error)? {
        return Err(Error::Exists("file"));
    }
    let part = with_suffix(to, &format!(".part-{}", std::process::id()));
    let written = copy(connection, &part).and_then(|()| {
        // Unlike a rename, a hard link never replaces an existing file.
        std::fs::hard_link(&part, to).map_err(file_error)
    });
    let _ = std::fs::remove_file(&part);
    written?;
    sync_folder(to)
}

/// Replaces a file that no process serves from by a copy; returns the new path of the old file.
pub(super) fn restore(from: &Path, path: &Path, options: &StoreOptions) -> Result<Option<PathBuf>> {
    let _lock = lock(path)?;
    let source = connection::open(from, ConnectionMode::ReadOnly, options)?;
    match schema::state(from, options)? {
        SchemaState::Current(_) => schema::verify(&source)?,
        SchemaState::Old(_) => {}
        state => return Err(Error::Schema(state)),
    }
    let report: String = source.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if report != "ok" {
        return Err(Error::Damaged(report));
    }
    let part = with_suffix(path, &format!(".part-{}", std::process::id()));
    let _ = std::fs::remove_file(&part);
    let restored = copy(&source, &part).and_then(|()| {
        let aside = put_aside(path, options)?;
        std::fs::rename(&part, path).map_err(file_error)?;
        Ok(aside)
    });
    let _ = std::fs::remove_file(&part);
    let aside = restored?;
    sync_folder(path)?;
    Ok(aside)
}

/// Moves a file away together with its log.
fn put_aside(path: &Path, options: &StoreOptions) -> Result<Option<PathBuf>> {
    if !path.try_exists().map_err(file_error)? {
        remove_log(path);
        return Ok(None);
    }
    // A checkpoint of a damaged file may fail; the file is kept unchanged.
    if let Ok(connection) = connection::open(path, ConnectionMode::ReadWrite, options) {
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
    let now = options.clock.now().millis();
    let aside = with_suffix(path, &format!(".before-{now}"));
    std::fs::hard_link(path, &aside).map_err(file_error)?;
    for suffix in ["-wal", "-shm"] {
        let log = with_suffix(path, suffix);
        if log.try_exists().unwrap_or(false) {
            std::fs::rename(&log, with_suffix(&aside, suffix)).map_err(file_error)?;
        }
    }
    Ok(Some(aside))
}

fn remove_log(path: &Path) {
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(with_suffix(path, suffix));
    }
}

/// Writes the database to a new file that only its owner can read, and waits for the disk.
fn copy(connection: &Connection, to: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    let options = options.write(true).create_new(true).mode(0o600);
    let file = options.open(to).map_err(file_error)?;
    let name = to.to_str().ok_or_else(|| Error::Refused("the path is not valid UTF-8".into()))?;
    connection.execute("VACUUM INTO ?1", [name])?;
    file.sync_all().map_err(file_error)
}

fn sync_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new("."))).map_err(file_error)?;
    folder.sync_all().map_err(file_error)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
