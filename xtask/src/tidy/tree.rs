//! The files that the rules check: those that git tracks or would add.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::failure::{OrFail, Result};
use crate::process;

/// Files by path, relative to the root and with forward slashes.
pub(super) struct Tree {
    files: BTreeMap<String, File>,
}

pub(super) struct File {
    pub(super) size_bytes: usize,
    pub(super) content: Content,
}

pub(super) enum Content {
    Text(String),
    /// The file contains a NUL byte.
    Binary,
}

impl Tree {
    pub(super) fn load(root: &Path) -> Result<Self> {
        let line = "ls-files -z --cached --others --exclude-standard";
        let mut git = Command::new("git");
        let listing = process::capture(git.current_dir(root).args(line.split(' ')))?;
        let mut files = BTreeMap::new();
        for path in listing.split('\0').filter(|path| !path.is_empty()) {
            let on_disk = root.join(path);
            // Deleted but not yet committed, or not a file.
            if !on_disk.is_file() {
                continue;
            }
            let bytes = fs::read(&on_disk).or_fail(format!("cannot read {path}"))?;
            files.insert(path.to_owned(), File::from_bytes(&bytes));
        }
        Ok(Self { files })
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter_map(|(path, file)| match &file.content {
            Content::Text(text) => Some((path, text.as_str())),
            Content::Binary => None,
        })
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match &self.files.get(path)?.content {
            Content::Text(text) => Some(text),
            Content::Binary => None,
        }
    }

    /// Whether a file or a folder with this path exists; the empty path is the root.
    pub(super) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(folder.clone()..)
                .next()
                .is_some_and(|(first, _)| first.starts_with(&folder))
    }
}

pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, last)| last == extension)
}

/// Whether a text contains a word: no letter, digit or `part_of_word` is next to it.
pub(super) fn has_word(text: &str, word: &str, part_of_word: &[char]) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || part_of_word.contains(&letter);
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

impl File {
    fn from_bytes(bytes: &[u8]) -> Self {
        let content = if bytes.contains(&0) {
            Content::Binary
        } else {
            Content::Text(String::from_utf8_lossy(bytes).into_owned())
        };
        Self { size_bytes: bytes.len(), content }
    }
}

#[cfg(test)]
impl Tree {
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), File::from_bytes(text.as_bytes())))
            .collect();
        Self { files }
    }
}

#[cfg(test)]
mod tests;
