//! The verified bytes of an artifact, and its file.

use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use task_loop::untrusted::printable;
use wire::download::is_name;
use wire::media::Artifact;

use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::download::digest::{self, Digest};
use crate::download::{OnConflict, folder_of};
use crate::member::retry::RetryingMember;

/// Reads an artifact whole. Fails if it does not match the declared digest and size.
pub(super) async fn read(service: &RetryingMember<'_>, artifact: &Artifact) -> Result<Bytes> {
    let id = &artifact.id;
    let wrong = |what: &str| {
        let message =
            format!("{what} of {} does not match the one the service announced", printable(id));
        Diagnostic::peer(message).hint("nothing was written")
    };
    if !is_name(id) {
        return Err(wrong("the id"));
    }
    let bytes = service.get(&format!("/media/artifacts/{id}")).await?.body;
    if bytes.len() as u64 != artifact.bytes {
        return Err(wrong("the size"));
    }
    if Digest::parse(&artifact.sha256) != Some(digest::of_bytes(&bytes)) {
        return Err(wrong("the SHA-256 digest"));
    }
    Ok(bytes)
}

/// The file name of one artifact of several: `a.png`, `a-2.png`, `a-3.png`.
pub(super) fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}", number + 1));
    path.with_file_name(name).with_added_extension(path.extension().unwrap_or_default())
}

/// Fails if the path holds something that must be kept.
pub(super) fn check(path: &Path, existing: OnConflict) -> Result {
    if path.is_dir() {
        return Err(Diagnostic::failed(format!("{} is a folder", path.display())));
    }
    if existing == OnConflict::Keep && path.symlink_metadata().is_ok() {
        return Err(is_there(path));
    }
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    Err(Diagnostic::failed(format!("folder {} does not exist", folder.display())))
}

pub(super) fn write(path: &Path, bytes: &[u8], existing: OnConflict) -> Result {
    let mut builder = tempfile::Builder::new();
    // The default mode of new files: the umask applies.
    builder.permissions(Permissions::from_mode(0o666)).prefix(".agent-");
    let mut file = builder.tempfile_in(folder_of(path)).or_cannot("write", path)?;
    file.write_all(bytes).or_cannot("write", path)?;
    let done = match existing {
        OnConflict::Replace => file.persist(path),
        OnConflict::Keep => file.persist_noclobber(path),
    };
    match done.map_err(|error| error.error) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(is_there(path)),
        done => done.map(drop).or_cannot("write", path),
    }
}

fn is_there(path: &Path) -> Diagnostic {
    Diagnostic::failed(format!("{} exists already", path.display()))
        .hint("replace it with `--force`")
}

#[cfg(test)]
mod tests;
