//! Listing of token files, including those of servers that are no longer configured.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::StoreFile;
use super::private_file::BACKUP_SUFFIX;

const MAX_FILES: usize = 10_000;

/// The prefixes of all token files, one per server: its name, if that is a valid file name.
pub fn stems(folder: &Path) -> BTreeSet<String> {
    names(folder).iter().filter_map(|name| stem(name)).map(str::to_owned).collect()
}

/// The files with this prefix.
pub fn files(folder: &Path, wanted: &str) -> Vec<PathBuf> {
    let names = names(folder);
    let found = names.iter().filter(|name| stem(name) == Some(wanted));
    found.map(|name| folder.join(name)).collect()
}

pub(super) fn is_backup(path: &Path) -> bool {
    path.extension().is_some_and(|end| *end == BACKUP_SUFFIX[1..])
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_FILES);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Ignores hidden files, which are being written, and locks.
fn stem(name: &str) -> Option<&str> {
    let visible = (!name.starts_with('.')).then_some(name)?;
    let whole = visible.strip_suffix(BACKUP_SUFFIX).unwrap_or(visible);
    // The longest matching suffix comes first.
    let ends = [StoreFile::Clients, StoreFile::Metadata, StoreFile::Tokens, StoreFile::Refused]
        .map(StoreFile::suffix);
    ends.iter().find_map(|end| whole.strip_suffix(end))
}

#[cfg(test)]
mod tests;
