//! A folder beside the models, on the same disk, for files that are not complete yet.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use tempfile::TempPath;
use tokio::task::yield_now;

use super::model_dir::{ModelDir, Name};
use crate::config::private_folder;
use crate::diagnostic::{ErrorContext, Result};
use crate::download::digest::Digest;

/// The folder for all models; it is not searched for models.
const NAME: &str = ".staging";

/// The staging folder of one model. On drop only complete files stay, for the next attempt.
#[derive(Debug)]
pub(super) struct Staging {
    folder: PathBuf,
}

impl Staging {
    /// Creates it, removing unfinished files of earlier attempts.
    pub(super) fn open(shelf: &ModelDir, name: &Name) -> Result<Self> {
        let staging = Self { folder: shelf.folder().join(NAME).join(name.as_str()) };
        staging.clear_growing();
        for folder in [staging.growing(), staging.complete_folder()] {
            private_folder(&folder).or_cannot("create", &folder)?;
        }
        Ok(staging)
    }

    /// For incomplete files.
    pub(super) fn growing(&self) -> PathBuf {
        self.folder.join("growing")
    }

    pub(super) fn complete_folder(&self) -> PathBuf {
        self.folder.join("whole")
    }

    /// A complete file with this extension, from an earlier attempt or this one.
    pub(super) fn left_over(&self, ending: &str) -> Option<PathBuf> {
        of_ending(&self.complete_folder(), ending).into_iter().next()
    }

    /// Stores a complete file and removes the previous one.
    pub(super) fn store(&self, file: &Path) -> io::Result<PathBuf> {
        self.forget();
        let name = file.file_name().ok_or(io::ErrorKind::NotFound)?;
        let to = self.complete_folder().join(name);
        fs::create_dir_all(self.complete_folder())?;
        fs::rename(file, &to)?;
        Ok(to)
    }

    /// Deletes the complete file: it is no longer needed, or was invalid.
    pub(super) fn forget(&self) {
        // The next attempt would check and delete a leftover.
        let _ = fs::remove_dir_all(self.complete_folder());
    }

    fn clear_growing(&self) {
        let _ = fs::remove_dir_all(self.growing());
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.clear_growing();
        // Remove the folders that are empty.
        let all = self.folder.parent().unwrap_or(&self.folder);
        for folder in [&self.complete_folder(), &self.folder, all] {
            match fs::remove_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => break,
                _ => {}
            }
        }
    }
}

pub(super) fn of_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|found| found == ending) && path.is_file())
        .collect();
    files.sort();
    files
}

const PIECE_BYTES: usize = 256 * 1024;
/// The default mode of a file, before the umask.
const MODE: u32 = 0o666;

/// A complete file; deleted on drop unless it is moved elsewhere.
#[derive(Debug)]
pub(super) struct CopiedFile {
    pub(super) path: TempPath,
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
}

#[derive(Debug)]
pub(super) enum CopyError {
    Read(io::Error),
    Write(io::Error),
    TooLong,
}

/// Copies everything, up to this number of bytes, into a new file of a folder.
pub(super) async fn pour(
    from: &mut impl Read,
    into: &Path,
    most_bytes: u64,
    watch: &dyn Fn(u64),
) -> Result<CopiedFile, CopyError> {
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(into)
        .map_err(CopyError::Write)?;
    let mut piece = vec![0; PIECE_BYTES];
    let (mut bytes, mut hashed) = (0, Context::new(&SHA256));
    loop {
        match from.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => {
                bytes += length as u64;
                if bytes > most_bytes {
                    return Err(CopyError::TooLong);
                }
                file.write_all(&piece[..length]).map_err(CopyError::Write)?;
                hashed.update(&piece[..length]);
                watch(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(CopyError::Read(error)),
        }
        yield_now().await;
    }
    Ok(CopiedFile { path: file.into_temp_path(), bytes, sha256: Digest::of(&hashed) })
}
