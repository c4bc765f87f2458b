//! Bytes poured into a new file and hashed, piece by piece: between two of them a signal is heard.

use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ring::digest::{Context, SHA256};
use tempfile::TempPath;
use tokio::task::yield_now;

use crate::download::digest::Digest;

/// How many bytes are taken at a time.
const PIECE_BYTES: usize = 256 * 1024;
/// An ordinary file, as far as the mask of the process lets it be one.
const MODE: u32 = 0o666;

/// A file that is whole; it goes with this unless it is put somewhere.
#[derive(Debug)]
pub(super) struct CopiedFile {
    pub(super) path: TempPath,
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
}

/// Why it is not.
#[derive(Debug)]
pub(super) enum CopyError {
    /// It could not be read.
    Read(io::Error),
    /// It could not be written.
    Write(io::Error),
    TooLong,
}

/// Pours everything, of so many bytes at most, into a new file of a folder.
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
