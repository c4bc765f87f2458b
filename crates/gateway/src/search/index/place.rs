//! Where an index is kept: generations in a folder, the name of the current one, and a lock that
//! makes one process the writer.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is kept changes its meaning with this; an index of another version is made anew.
const VERSION: &str = "v1-";
const CURRENT: &str = "current";
const LOCK: &str = "writer.lock";

/// The folder of one index.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
}

/// Makes its holder the one who writes, among all processes, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Place {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Becomes the writer, unless another process is.
    pub(super) fn lock(&self) -> io::Result<Option<Lock>> {
        fs::create_dir_all(&self.root)?;
        let file =
            File::options().create(true).truncate(false).write(true).open(self.root.join(LOCK))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The name of the generation that is read, if there is one of this version.
    pub(super) fn current(&self) -> Option<String> {
        let name = fs::read_to_string(self.root.join(CURRENT)).ok()?.trim().to_owned();
        let rest = name.strip_prefix(VERSION)?;
        let is_name = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then_some(name)
    }

    /// The folder of a generation.
    pub(super) fn folder(&self, generation: &str) -> PathBuf {
        self.root.join(generation)
    }

    /// Begins a generation that nobody reads yet.
    pub(super) fn begin(&self, _lock: &Lock) -> io::Result<String> {
        self.remove_others(self.current().as_deref());
        let name = format!("{VERSION}{:016x}", fastrand::u64(..));
        fs::create_dir(self.folder(&name))?;
        Ok(name)
    }

    /// Makes a generation the one that is read, and removes the others.
    pub(super) fn publish(&self, _lock: &Lock, generation: &str) -> io::Result<()> {
        let new = self.root.join(format!("{CURRENT}.new"));
        let mut file = File::create(&new)?;
        file.write_all(generation.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, self.root.join(CURRENT))?;
        sync(&self.root)?;
        self.remove_others(Some(generation));
        Ok(())
    }

    /// Removes what nobody reads. Whoever still has a file open keeps it.
    fn remove_others(&self, kept: Option<&str>) {
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_generation = name.starts_with('v') && name.contains('-');
            if is_generation
                && Some(name) != kept
                && let Err(error) = fs::remove_dir_all(entry.path())
            {
                tracing::warn!(%error, name, "an old index was not removed");
            }
        }
    }
}

/// Makes sure that a renamed file stays so.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_the_writer_and_only_whole_generations_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path().join("deep/index"));
        assert_eq!(place.current(), None);
        let lock = place.lock().unwrap().unwrap();
        assert!(place.lock().unwrap().is_none());
        let first = place.begin(&lock).unwrap();
        assert_eq!(place.current(), None);
        place.publish(&lock, &first).unwrap();
        assert_eq!(place.current(), Some(first.clone()));
        let second = place.begin(&lock).unwrap();
        assert_eq!(place.current(), Some(first.clone()));
        place.publish(&lock, &second).unwrap();
        assert!(!place.folder(&first).exists() && place.folder(&second).exists());
        drop(lock);
        assert!(place.lock().unwrap().is_some());
    }

    #[test]
    fn a_name_that_cannot_be_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path().to_owned());
        for name in ["", "v0-12", "v1-", "../v1-12", "v1-12/..", "v1-xyz"] {
            fs::write(folder.path().join(CURRENT), name).unwrap();
            assert_eq!(place.current(), None, "{name}");
        }
        fs::write(folder.path().join(CURRENT), "v1-00ff\n").unwrap();
        assert_eq!(place.current().as_deref(), Some("v1-00ff"));
    }
}
