//! The folder of one skill. Reads never leave it, however a file is named.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

use super::document::Document;
use super::{SKILL_FILE, SkillFlaw};
use crate::download::digest::Digest;

pub(crate) const MAX_FILE_BYTES: u64 = 256 * 1024;
pub(crate) const MAX_DEPTH: usize = 16;
const MAX_FILES: usize = 1000;
/// Maximum bytes read for a digest; of the rest only the size counts.
const MAX_DIGEST_BYTES: u64 = 10 * 1024 * 1024;
const MAX_PATH_BYTES: usize = 1024;

/// The folder of a skill, by its real path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    root: PathBuf,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Digests {
    /// Of `SKILL.md`.
    #[serde(rename = "digest")]
    pub(crate) skill: String,
    /// Of everything else.
    #[serde(rename = "files_digest")]
    pub(crate) files: String,
}

impl Folder {
    /// The folder at this path, which must really be below `bound` if one is given.
    pub(crate) fn open(path: &Path, bound: Option<&Path>) -> Result<Self, SkillFlaw> {
        let root = fs::canonicalize(path).map_err(|error| SkillFlaw::of(error.to_string()))?;
        if bound.is_some_and(|bound| !root.starts_with(bound)) {
            return Err(SkillFlaw::of("the folder is a link to a place outside the project"));
        }
        Ok(Self { root })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    pub(crate) fn document(&self) -> Result<Document, SkillFlaw> {
        Document::parse(&self.text(SKILL_FILE)?)
    }

    /// The text of a file, by its path in the folder.
    pub(crate) fn text(&self, file: &str) -> Result<String, SkillFlaw> {
        let path = self.inside(file)?;
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|open| open.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| SkillFlaw::of(format!("cannot be read: {error}")))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(SkillFlaw::of(format!("larger than {} KiB", MAX_FILE_BYTES / 1024)));
        }
        if bytes.contains(&0) {
            return Err(SkillFlaw::of("not a text file"));
        }
        String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            SkillFlaw::at(line, "this line is not UTF-8")
        })
    }

    /// The real path of a file, which must be inside the folder.
    fn inside(&self, file: &str) -> Result<PathBuf, SkillFlaw> {
        let relative = Path::new(file);
        let is_plain = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_named = !file.is_empty() && file.len() <= MAX_PATH_BYTES && !file.contains('\0');
        if !is_named || !relative.components().all(is_plain) {
            return Err(SkillFlaw::of("not a path inside the skill's folder"));
        }
        let path = fs::canonicalize(self.root.join(relative)).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return SkillFlaw::of("file not found");
            }
            SkillFlaw::of(format!("cannot be read: {error}"))
        })?;
        if !path.starts_with(&self.root) {
            return Err(SkillFlaw::of("a link to a place outside the skill's folder"));
        }
        // Opening a pipe would block until it has a writer.
        if !fs::metadata(&path).is_ok_and(|file| file.is_file()) {
            return Err(SkillFlaw::of("not a file"));
        }
        Ok(path)
    }

    /// The other files, by their paths in the folder. Links, and names that would break a line,
    /// are omitted.
    pub(crate) fn files(&self) -> Vec<String> {
        let is_told = |name: &String| name != SKILL_FILE && !name.contains(char::is_control);
        let files = self.entries().filter(|entry| entry.file_type().is_file());
        files.map(|entry| self.name(&entry)).filter(is_told).collect()
    }

    pub(crate) fn digests(&self) -> Digests {
        let mut skill = Context::new(&SHA256);
        let mut files = Context::new(&SHA256);
        let mut left = MAX_DIGEST_BYTES;
        for entry in self.entries() {
            let name = self.name(&entry);
            let into = if name == SKILL_FILE { &mut skill } else { &mut files };
            let size = entry.metadata().map_or(0, |file| file.len());
            into.update(format!("{name}\0{size}\0").as_bytes());
            if entry.file_type().is_file() {
                left -= digest(entry.path(), left, into);
            }
        }
        Digests { skill: Digest::of(&skill).to_string(), files: Digest::of(&files).to_string() }
    }

    /// Everything but folders, in a fixed order.
    fn entries(&self) -> impl Iterator<Item = DirEntry> {
        WalkDir::new(&self.root)
            .min_depth(1)
            .max_depth(MAX_DEPTH)
            .follow_links(false)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".git")
            .filter_map(Result::ok)
            .filter(|entry| !entry.file_type().is_dir())
            .take(MAX_FILES)
    }

    fn name(&self, entry: &DirEntry) -> String {
        let relative = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
        let parts: Vec<_> =
            relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    }
}

/// Adds at most this many bytes of a file to a digest; returns how many there were.
fn digest(path: &Path, most: u64, into: &mut Context) -> u64 {
    let Ok(file) = File::open(path) else { return 0 };
    let mut file = file.take(most);
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        into.update(&buffer[..read]);
        total += read as u64;
    }
    total
}

#[cfg(test)]
mod tests;
