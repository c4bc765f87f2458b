//! An index that follows a folder.

use std::collections::HashMap;
use std::error::Error as _;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use document_parser::Pool;
use rusqlite::Connection;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::database::{Database, Opened, Record};
use crate::query::{self, Match, Query};
use crate::scan::{self, Source};
use crate::{Error, Result};

/// Minimum pause between two scans of the folder.
pub(crate) const LEAST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct Config {
    /// The name of the index in log lines.
    pub name: String,
    pub folder: PathBuf,
    pub index_folder: PathBuf,
    pub rescan: Duration,
    pub max_file_bytes: u64,
}

#[derive(Debug)]
pub struct Index {
    config: Config,
    pub(crate) folder: Folder,
    /// The searchable database; `None` until one is complete.
    pub(crate) opened: ArcSwapOption<Database>,
    /// Set by a failure: the file is checked before its next use.
    is_suspect: AtomicBool,
    /// Ends the pause between two scans.
    wake: Notify,
    pub(crate) writing: Mutex<Writing>,
    parser: Pool,
}

#[derive(Debug, Default)]
pub(crate) struct Writing {
    pub(crate) lock: Option<Lock>,
    /// Records by path, and the index file that they belong to.
    records: Option<(PathBuf, HashMap<String, Record>)>,
}

/// When to scan the folder again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// After the minimum pause: another process is writing the index.
    Soon,
    Later,
}

impl Index {
    /// An index from its configuration. Nothing is opened yet.
    pub fn new(config: Config, parser: Pool) -> Self {
        Self {
            folder: Folder::new(config.index_folder.clone()),
            opened: ArcSwapOption::empty(),
            is_suspect: AtomicBool::new(false),
            wake: Notify::new(),
            writing: Mutex::default(),
            parser,
            config,
        }
    }

    pub fn name(&self) -> &str {
        &self.config.name
    }

    pub fn is_usable(&self) -> bool {
        self.opened.load().is_some()
    }

    /// Scans the folder periodically, until stopped.
    pub async fn keep(self: Arc<Self>, stopping: CancellationToken) {
        let rescan = self.config.rescan;
        loop {
            let (index, stop) = (self.clone(), stopping.clone());
            let scanned = tokio::task::spawn_blocking(move || index.scan(&stop)).await;
            let again = scanned.unwrap_or_else(|error| {
                tracing::error!(index = self.name(), %error, "index refresh failed");
                Again::Later
            });
            let next = async {
                tokio::time::sleep(rescan.min(LEAST_PAUSE)).await;
                if again == Again::Later {
                    let rest = rescan.saturating_sub(LEAST_PAUSE);
                    let _ = tokio::time::timeout(rest, self.wake.notified()).await;
                }
            };
            tokio::select! {
                () = stopping.cancelled() => return,
                () = next => {}
            }
        }
    }

    /// Scans the folder once. Blocks; must run on a thread of a runtime.
    pub fn refresh(&self) {
        self.scan(&CancellationToken::new());
    }

    pub async fn search(self: &Arc<Self>, query: Query) -> Result<Vec<Match>, &'static str> {
        self.with(move |connection| query::search(connection, &query)).await
    }

    /// The title and the text of the document at a path.
    pub async fn read(self: &Arc<Self>, path: String) -> Option<(String, String)> {
        self.with(move |connection| query::text_of(connection, &path)).await.ok()?
    }

    /// Runs work with the open index, off the runtime. A failure marks it suspect.
    pub(crate) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, &'static str> {
        let opened = self.opened.load_full().ok_or("the index is not ready")?;
        let error = match tokio::task::spawn_blocking(move || opened.with(work)).await {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(error)) => chain(&error),
            Err(error) => error.to_string(),
        };
        tracing::error!(index = self.name(), error, "index failed; checking it");
        self.is_suspect.store(true, Ordering::Release);
        self.opened.store(None);
        self.wake.notify_one();
        Err("the index failed")
    }

    /// As the writer, updates the index from the folder; otherwise opens the writer's index.
    pub(crate) fn scan(&self, stopping: &CancellationToken) -> Again {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.try_scan(&mut writing, stopping).unwrap_or_else(|error| {
            tracing::warn!(index = self.name(), error = chain(&error), "index refresh failed");
            // The index stays usable if only the folder is gone.
            if matches!(error, Error::Database(_)) {
                self.is_suspect.store(true, Ordering::Release);
            }
            Again::Later
        })
    }

    fn try_scan(&self, writing: &mut Writing, stopping: &CancellationToken) -> Result<Again> {
        if writing.lock.is_none() {
            writing.lock = self.folder.lock()?;
        }
        let current = self.current();
        self.opened.store(current.clone().ok());
        let Some(lock) = &writing.lock else { return Ok(current.err().unwrap_or(Again::Later)) };
        let database = match current {
            Ok(current) => current,
            Err(_) => Arc::new(Database::create(self.folder.replace(lock)?)?),
        };
        let records = writing.records.take().filter(|(of, _)| *of == database.path);
        let mut records = match records {
            Some((_, records)) => records,
            None => database.records()?,
        };
        let source = Source {
            folder: &self.config.folder,
            max_file_bytes: self.config.max_file_bytes,
            stopping,
            parser: &self.parser,
        };
        let done = scan::scan(&source, &database, &mut records)?;
        if stopping.is_cancelled() {
            return Ok(Again::Later);
        }
        database.finish()?;
        if done != scan::Done::default() {
            let scan::Done { read, removed, unreadable } = done;
            let files = records.len();
            tracing::info!(
                index = self.name(),
                files,
                read,
                removed,
                unreadable,
                "index refreshed"
            );
        }
        writing.records = Some((database.path.clone(), records));
        self.opened.store(Some(database));
        Ok(Again::Later)
    }

    /// The open database, or the complete one in the folder; otherwise when to look again.
    fn current(&self) -> Result<Arc<Database>, Again> {
        let path = self.folder.current().ok_or(Again::Soon)?;
        let is_suspect = self.is_suspect.swap(false, Ordering::AcqRel);
        let known = self.opened.load_full().filter(|known| known.path == path);
        if let Some(known) = known.filter(|_| !is_suspect) {
            return Ok(known);
        }
        match Database::open(&path) {
            Opened::Whole(database) => Ok(Arc::new(database)),
            Opened::Unfinished => Err(Again::Soon),
            Opened::Damaged(why) => {
                let name = self.name();
                tracing::error!(index = name, why, "index is corrupt; rebuilding it");
                Err(Again::Later)
            }
        }
    }
}

fn chain(error: &Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

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
