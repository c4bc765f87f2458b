//! The file as a file: the right to serve from it, copies of it, and putting a copy back.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rustix::fs::FlockOperation;

use super::connection::{self, Role};
use super::{failure, schema};
use crate::backend::Result;
use crate::{Error, SchemaState, StoreOptions};

/// Takes the right to serve from a file. It ends when what is given is dropped, or the process.
pub(super) fn claim(path: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(beside(path, ".lock")).map_err(failure::of_files)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::InUse),
        Err(error) => Err(failure::of_files(error.into())),
    }
}

/// Writes a copy to a path where nothing is.
pub(super) fn backup(connection: &Connection, to: &Path) -> Result<()> {
    if to.try_exists().map_err(failure::of_files)? {
        return Err(Error::Exists("file"));
    }
    let part = beside(to, &format!(".part-{}", std::process::id()));
    let written = copy(connection, &part).and_then(|()| {
        // A link, unlike a rename, never takes the place of another file.
        std::fs::hard_link(&part, to).map_err(failure::of_files)
    });
    let _ = std::fs::remove_file(&part);
    written?;
    sync_folder(to)
}

/// Puts a copy in the place of a file that nobody serves from; gives where the old one is now.
pub(super) fn restore(from: &Path, path: &Path, options: &StoreOptions) -> Result<Option<PathBuf>> {
    let _claim = claim(path)?;
    let source = connection::open(from, Role::Reads, options)?;
    match schema::state(from, options)? {
        SchemaState::Current(_) => schema::verify(&source)?,
        SchemaState::Old(_) => {}
        state => return Err(Error::Schema(state)),
    }
    let found: String = source.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(Error::Damaged(found));
    }
    let part = beside(path, &format!(".part-{}", std::process::id()));
    let _ = std::fs::remove_file(&part);
    let placed = copy(&source, &part).and_then(|()| {
        let aside = put_aside(path, options)?;
        std::fs::rename(&part, path).map_err(failure::of_files)?;
        Ok(aside)
    });
    let _ = std::fs::remove_file(&part);
    let aside = placed?;
    sync_folder(path)?;
    Ok(aside)
}

/// Moves a file away, whole: with what its log has.
fn put_aside(path: &Path, options: &StoreOptions) -> Result<Option<PathBuf>> {
    if !path.try_exists().map_err(failure::of_files)? {
        remove_log(path);
        return Ok(None);
    }
    // One that is damaged may have no log to move; it is kept as it is.
    if let Ok(connection) = connection::open(path, Role::Writes, options) {
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
    let now = options.clock.now().millis();
    let aside = beside(path, &format!(".before-{now}"));
    std::fs::hard_link(path, &aside).map_err(failure::of_files)?;
    for ending in ["-wal", "-shm"] {
        let log = beside(path, ending);
        if log.try_exists().unwrap_or(false) {
            std::fs::rename(&log, beside(&aside, ending)).map_err(failure::of_files)?;
        }
    }
    Ok(Some(aside))
}

fn remove_log(path: &Path) {
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(path, ending));
    }
}

/// Writes all that a connection sees to a new file, for its owner alone, and waits for the disk.
fn copy(connection: &Connection, to: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    let options = options.write(true).create_new(true).mode(0o600);
    let file = options.open(to).map_err(failure::of_files)?;
    let name = to.to_str().ok_or_else(|| Error::Refused("the path is no text".into()))?;
    connection.execute("VACUUM INTO ?1", [name])?;
    file.sync_all().map_err(failure::of_files)
}

fn sync_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new("."))).map_err(failure::of_files)?;
    folder.sync_all().map_err(failure::of_files)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
