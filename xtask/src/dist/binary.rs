//! The binary: its bytes, and the libraries that it needs at run time.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::read;
use crate::failure::Failure;
use crate::process;

/// Libraries that every system with the GNU C library has, and that wheels may therefore use.
const SYSTEM_LIBRARIES: &[&str] = &[
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];

pub(super) struct Binary {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// The oldest release of the GNU C library that it runs with.
    pub(super) glibc: (u32, u32),
}

impl Binary {
    pub(super) fn load(path: &Path) -> Result<Self, Failure> {
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
    pub(super) fn libraries(&self) -> Result<Vec<PathBuf>, Failure> {
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
mod tests {
    use super::*;

    const HEADERS: &str = "Dynamic Section:\n  NEEDED               libgcc_s.so.1\n  \
        NEEDED               libc.so.6\n\nVersion References:\n  required from libc.so.6:\n    \
        0x09691a75 0x00 14 GLIBC_2.9\n    0x069691b4 0x00 02 GLIBC_2.34\n    \
        0x0963cf85 0x00 11 GLIBC_PRIVATE\n";

    #[test]
    fn glibc_versions_are_compared_as_numbers() {
        assert_eq!(newest_glibc(HEADERS), Some((2, 34)));
        assert_eq!(newest_glibc("no versions"), None);
    }

    #[test]
    fn needed_libraries_are_listed() {
        assert_eq!(needed(HEADERS).collect::<Vec<_>>(), ["libgcc_s.so.1", "libc.so.6"]);
    }
}
