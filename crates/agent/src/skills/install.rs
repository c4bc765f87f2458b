//! Installs a folder as a skill: checked first, then copied completely or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use task_loop::untrusted::escaped;
use walkdir::{DirEntry, WalkDir};

use super::document::Document;
use super::folder::{Folder, MAX_DEPTH};
use super::{Name, Problem, SKILL_FILE};
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::download::OnConflict;

const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// Not copied: it is metadata of the folder.
const LEFT_OUT: &str = ".git";

#[derive(Debug)]
pub(crate) struct InstallPlan {
    pub(crate) source: PathBuf,
    pub(crate) name: Name,
    pub(crate) description: String,
    pub(crate) files: Vec<PlannedFile>,
    pub(crate) has_left_out: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PlannedFile {
    #[serde(serialize_with = "super::lossy")]
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) is_program: bool,
}

impl InstallPlan {
    /// Checks a folder. Nothing is written.
    pub(crate) fn of(folder: &Path, name: Option<Name>) -> Result<Self> {
        let shown = escaped(&folder.display().to_string());
        let source = fs::canonicalize(folder)
            .map_err(|error| Diagnostic::cannot_read(Exit::Usage, folder, &error))?;
        if !source.is_dir() {
            return Err(Diagnostic::usage(format!("{shown} is not a folder"))
                .hint("pass the folder that contains SKILL.md"));
        }
        let document = document(&source)?;
        let (files, has_left_out) = look_through(&source)?;
        let name = name.unwrap_or(document.title);
        Ok(Self { source, name, description: document.description, files, has_left_out })
    }

    /// Copies it to the folder of skills; returns whether it replaced a version. The caller holds
    /// the lock.
    pub(crate) fn copy_to(&self, place: &Path, existing: OnConflict) -> Result<bool> {
        let to = place.join(self.name.as_str());
        let is_there = fs::symlink_metadata(&to).is_ok();
        if is_there && existing == OnConflict::Keep {
            let message = format!("skill `{}` exists already", self.name);
            return Err(Diagnostic::failed(message)
                .hint(format!("it is in {}", to.display()))
                .hint(
                    "replace it with `--force`, or install this one under another name with \
                     `--name`",
                ));
        }
        fs::create_dir_all(place).or_cannot("install into", &to)?;
        let stage = tempfile::Builder::new().prefix(".install-").tempdir_in(place);
        let stage = stage.or_cannot("install into", &to)?;
        let new = stage.path().join("new");
        self.copy(&new).or_cannot("install into", &to)?;
        // The folder may have changed since it was checked; the copy does not.
        document(&new)?;
        let before = stage.path().join("before");
        if is_there {
            fs::rename(&to, &before).or_cannot("install into", &to)?;
        }
        if let Err(mut diagnostic) = fs::rename(&new, &to).or_cannot("install into", &to) {
            if is_there && fs::rename(&before, &to).is_err() {
                // If it cannot be restored, it must not be deleted with the staging folder.
                let kept = stage.keep();
                let hint = format!("the previous version is in {}", kept.display());
                diagnostic = diagnostic.hint(hint);
            }
            return Err(diagnostic);
        }
        Ok(is_there)
    }

    fn copy(&self, to: &Path) -> io::Result<()> {
        fs::create_dir(to)?;
        let mut left = MAX_BYTES;
        for planned in &self.files {
            let (from, to) = (self.source.join(&planned.path), to.join(&planned.path));
            if !fs::symlink_metadata(&from)?.is_file() {
                return Err(io::Error::other("the folder changed during the installation"));
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            // With a fixed mode, not that of the original.
            let mode = if planned.is_program { 0o755 } else { 0o644 };
            let mut new =
                fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&to)?;
            let mut bytes = Vec::new();
            File::open(&from)?.take(left + 1).read_to_end(&mut bytes)?;
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| io::Error::other("the folder grew during the installation"))?;
            new.write_all(&bytes)?;
            new.sync_all()?;
        }
        Ok(())
    }
}

fn document(folder: &Path) -> Result<Document> {
    let read = Folder::open(folder, None).and_then(|folder| folder.document());
    read.map_err(|flaw| {
        let line = Problem::of(folder.join(SKILL_FILE), flaw).line();
        Diagnostic::failed(line).hint("nothing was installed")
    })
}

/// Every file of a folder, if all of it can be installed; and whether a file is omitted.
fn look_through(source: &Path) -> Result<(Vec<PlannedFile>, bool)> {
    let refuse = |entry: &Path, why: &str| {
        let entry = escaped(&entry.display().to_string());
        Diagnostic::failed(format!("{entry} {why}")).hint("nothing was installed")
    };
    let is_left_out = |entry: &DirEntry| entry.file_name() == LEFT_OUT;
    let mut has_left_out = false;
    let mut files = Vec::new();
    let mut bytes = 0;
    let mut entries = WalkDir::new(source).min_depth(1).sort_by_file_name().into_iter();
    while let Some(entry) = entries.next() {
        let entry = entry.or_cannot("read", source)?;
        let path = entry.path();
        if is_left_out(&entry) {
            has_left_out = true;
            if entry.file_type().is_dir() {
                entries.skip_current_dir();
            }
            continue;
        }
        let is_clean = |name: &str| !name.chars().any(char::is_control);
        if !entry.file_name().to_str().is_some_and(is_clean) {
            return Err(refuse(path, "has a name that is not valid UTF-8"));
        }
        if entry.depth() > MAX_DEPTH {
            return Err(refuse(path, &format!("is more than {MAX_DEPTH} folders deep")));
        }
        let kind = entry.file_type();
        if kind.is_dir() {
            continue;
        }
        if kind.is_symlink() {
            return Err(refuse(path, "is a link; links are not installed"));
        }
        if !kind.is_file() {
            return Err(refuse(path, "is neither a file nor a folder"));
        }
        let about = entry.metadata().or_cannot("read", path)?;
        bytes += about.len();
        if files.len() == MAX_FILES {
            return Err(refuse(source, &format!("has more than {MAX_FILES} files")));
        }
        if bytes > MAX_BYTES {
            let most = MAX_BYTES / 1024 / 1024;
            return Err(refuse(source, &format!("is larger than {most} MiB")));
        }
        let relative = path.strip_prefix(source).unwrap_or(path).to_owned();
        let is_program = about.permissions().mode() & 0o111 != 0;
        files.push(PlannedFile { path: relative, bytes: about.len(), is_program });
    }
    Ok((files, has_left_out))
}

#[cfg(test)]
mod tests;
