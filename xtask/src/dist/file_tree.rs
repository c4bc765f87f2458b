//! Files of an artifact in a fixed order, and the archives and folders that they are written to.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use crate::failure::{OrFail, Result};

/// Entries by path. All belong to root unless another owner is set.
#[derive(Default)]
pub(super) struct FileTree {
    entries: BTreeMap<String, Entry>,
}

struct Entry {
    /// `None` for a folder.
    bytes: Option<Vec<u8>>,
    mode: u32,
    owner: u64,
}

impl FileTree {
    pub(super) fn file(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.add(path, Some(bytes.into()), 0o644, 0);
    }

    pub(super) fn program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.add(path, Some(bytes.into()), 0o755, 0);
    }

    pub(super) fn folder(&mut self, path: impl Into<String>, mode: u32, owner: u64) {
        self.add(path, None, mode, owner);
    }

    fn add(&mut self, path: impl Into<String>, bytes: Option<Vec<u8>>, mode: u32, owner: u64) {
        self.entries.insert(path.into(), Entry { bytes, mode, owner });
    }

    pub(super) fn total_bytes(&self) -> usize {
        self.entries.values().filter_map(|entry| entry.bytes.as_ref()).map(Vec::len).sum()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, u32, &[u8])> {
        self.entries
            .iter()
            .filter_map(|(path, entry)| Some((path.as_str(), entry.mode, entry.bytes.as_deref()?)))
    }

    /// A tar archive; all times are `epoch`.
    pub(super) fn tar(&self, epoch: u64) -> Result<Vec<u8>> {
        let mut archive = Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let bytes = entry.bytes.as_deref().unwrap_or_default();
            let mut header = Header::new_ustar();
            let is_file = entry.bytes.is_some();
            header.set_entry_type(if is_file { EntryType::Regular } else { EntryType::Directory });
            header.set_mode(entry.mode);
            header.set_uid(entry.owner);
            header.set_gid(entry.owner);
            header.set_mtime(epoch);
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, path, bytes).or_fail(UNWRITTEN)?;
        }
        archive.into_inner().or_fail(UNWRITTEN)
    }

    /// Writes the tree to a folder, with its modes.
    pub(super) fn write_to(&self, folder: &Path) -> Result {
        for (path, mode, bytes) in self.files() {
            let path = folder.join(path);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).or_fail(UNWRITTEN)?;
            fs::write(&path, bytes).or_fail(UNWRITTEN)?;
            fs::set_permissions(&path, Permissions::from_mode(mode)).or_fail(UNWRITTEN)?;
            for parent in parent.ancestors().take_while(|parent| parent.starts_with(folder)) {
                fs::set_permissions(parent, Permissions::from_mode(0o755)).or_fail(UNWRITTEN)?;
            }
        }
        Ok(())
    }
}

/// Compresses without a name or time in the header.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::new(6));
    encoder.write_all(bytes).and_then(|()| encoder.finish()).or_fail(UNWRITTEN)
}

const UNWRITTEN: &str = "cannot write an archive";
