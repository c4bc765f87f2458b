//! The binary: its bytes, and the libraries that it needs at run time.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::read;
use crate::failure::{Failure, Result};
use crate::process;

/// Libraries that every system with the GNU C library has, and that wheels may therefore use.
#[rustfmt::skip] // a table of words
const SYSTEM_LIBRARIES: &[&str] = &[
    "ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1",
    "libm.so.6", "libpthread.so.0", "librt.so.1",
];

pub(super) struct Binary {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// The oldest release of the GNU C library that it runs with.
    pub(super) glibc: (u32, u32),
}

impl Binary {
    pub(super) fn load(path: &Path) -> Result<Self> {
        let headers = process::capture(Command::new("objdump").arg("-p").arg(path))?;
        if let Some(library) = needed(&headers).find(|name| !SYSTEM_LIBRARIES.contains(name)) {
            let message = format!("{} needs {library}", path.display());
            return Err(Failure::work(message).with_hint("link it statically"));
        }
        let glibc = newest_glibc(&headers).ok_or_else(|| {
            Failure::work(format!("{} needs no version of the C library", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), bytes: read(path)?, glibc })
    }

    /// The files of the loader and of all libraries on this machine.
    pub(super) fn libraries(&self) -> Result<Vec<PathBuf>> {
        let list = process::capture(Command::new("ldd").arg(&self.path))?;
        let path = |line: &str| {
            line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from)
        };
        Ok(list.lines().filter_map(path).collect())
    }
}

fn needed(headers: &str) -> impl Iterator<Item = &str> {
    headers.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim)
}

fn newest_glibc(headers: &str) -> Option<(u32, u32)> {
    let versions = headers.split_whitespace().filter_map(|word| word.strip_prefix("GLIBC_"));
    versions
        .filter_map(|version| {
            let mut numbers = version.split('.').map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        })
        .max()
}

#[cfg(test)]
mod tests;
