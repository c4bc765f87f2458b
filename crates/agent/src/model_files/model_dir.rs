//! The folder of models: its files with their names and records; adding and removing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};
use tempfile::TempPath;
use tokio::time::{Instant, sleep};

use crate::config;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::download::free_bytes;
use crate::file_name::{FileName, NameKind};
use crate::session::Session;

pub(crate) const MAX_FILES: usize = 1000;
/// The lock file for changes of the folder; it is empty and is kept.
const LOCK: &str = ".lock";
/// Maximum wait for another process: its download may be large and slow.
const MAX_LOCK_WAIT: Duration = Duration::from_mins(30);
const LOCK_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub(crate) struct ModelDir {
    folder: PathBuf,
}

#[derive(Debug, Default)]
pub(crate) struct ModelDirContent {
    pub(crate) names: Vec<Name>,
    pub(crate) odd: Vec<String>,
    /// Whether there were more than the maximum.
    pub(crate) is_cut: bool,
}

impl ModelDir {
    /// The folder of the profile; it may not exist.
    pub(crate) fn find(session: &Session) -> Result<Self> {
        Ok(Self::at(&session.home()?.models()))
    }

    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn path(&self, name: &Name) -> PathBuf {
        self.folder.join(format!("{name}.{ENDING}"))
    }

    pub(crate) fn record_path(&self, name: &Name) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    pub(crate) fn create(&self) -> Result {
        config::private_folder(&self.folder).or_cannot("make", &self.folder)
    }

    /// Locks the folder for changes until the file is dropped. Waits for other processes.
    pub(crate) async fn lock(&self, session: &Session) -> Result<File> {
        self.create()?;
        let path = self.folder.join(LOCK);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.or_cannot("lock", &path)?;
        let begun = Instant::now();
        let mut is_told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error).or_cannot("lock", &path),
                Err(TryLockError::WouldBlock) if begun.elapsed() > MAX_LOCK_WAIT => {
                    let what = format!("another process is changing {}", self.folder.display());
                    return Err(Diagnostic::failed(what).hint("try again when it has finished"));
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if !is_told {
                session.output.note("Waiting for another process that is changing the models.");
                is_told = true;
            }
            sleep(LOCK_PAUSE).await;
        }
    }

    pub(crate) fn content(&self) -> Result<ModelDirContent> {
        let files = match fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ModelDirContent::default());
            }
            Err(error) => return Err(error).or_cannot("read", &self.folder),
        };
        let mut content = ModelDirContent::default();
        let models = files.flatten().map(|file| file.path()).filter(|path| is_model(path));
        for (at, path) in models.enumerate() {
            if at == MAX_FILES {
                content.is_cut = true;
                break;
            }
            match Name::of_any_file(&path) {
                Some(name) => content.names.push(name),
                None => content.odd.push(path.to_string_lossy().into_owned()),
            }
        }
        content.names.sort();
        content.odd.sort();
        Ok(content)
    }

    pub(crate) fn has(&self, name: &Name) -> bool {
        fs::symlink_metadata(self.path(name)).is_ok()
    }

    /// Checks free space, where the system reports it.
    pub(crate) fn check_room(&self, needed_bytes: u64) -> Result {
        let Ok(disk) = statvfs(&self.folder) else { return Ok(()) };
        if let Some(free) = free_bytes(&disk)
            && free < needed_bytes
        {
            let what = format!("not enough disk space in {}", self.folder.display());
            return Err(Diagnostic::failed(what).hint(format!(
                "{} MB are needed, {} MB are free",
                needed_bytes.div_ceil(1_000_000),
                free / 1_000_000
            )));
        }
        Ok(())
    }

    /// Renames a complete file to its place and syncs the folder.
    pub(crate) fn publish(&self, whole: TempPath, name: &Name, record: &Record) -> Result {
        let to = self.path(name);
        if to.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory)).or_cannot("save", &to);
        }
        File::open(&whole).and_then(|file| file.sync_all()).or_cannot("save", &to)?;
        // The record of the previous file is wrong from here on.
        let record_path = self.record_path(name);
        let _ = fs::remove_file(&record_path);
        whole.persist(&to).map_err(|error| error.error).or_cannot("save", &to)?;
        // The file is complete and in place; a failed sync of its folder is minor.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        record.save(&record_path)
    }

    /// Removes a model; nothing outside the folder is touched.
    pub(crate) fn remove(&self, name: &Name) -> Result {
        let path = self.path(name);
        // Removes a link, but not its target.
        fs::remove_file(&path).or_cannot("remove", &path)?;
        let _ = fs::remove_file(self.record_path(name));
        Ok(())
    }
}

fn is_model(path: &Path) -> bool {
    let is_hidden = |name: &str| name.starts_with('.');
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    path.extension().is_some_and(|ending| ending == ENDING) && !is_hidden(&name) && path.is_file()
}

const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// The origin of a file. A file without a record is just as usable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) source: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) added: String,
}

impl Record {
    pub(crate) fn load(path: &Path) -> Option<Self> {
        let text = io::read_to_string(File::open(path).ok()?.take(MAX_RECORD_BYTES)).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(crate) fn save(&self, path: &Path) -> Result {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        config::write(path, &format!("{text}\n"))
    }
}

pub(crate) const ENDING: &str = "gguf";

pub(crate) type Name = FileName<ModelName>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelName {}

impl NameKind for ModelName {
    const NOUN: &str = "model";
    const RULE: &str = "a name has 1 to 64 letters, digits, `.`, `_` and `-`, starts with a letter \
                        or a digit, and does not end with `.gguf`";
    const HAS_CAPITALS: bool = true;
    const MARKS: &[u8] = b"._-";
}

impl Name {
    /// The name of the model in a file, whatever its extension.
    pub(crate) fn of_any_file(path: &Path) -> Option<Self> {
        Self::parse(path.file_stem()?.to_str()?)
    }
}

#[cfg(test)]
mod tests;
