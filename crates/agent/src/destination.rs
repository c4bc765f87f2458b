//! Checks on a destination path: existing file and free space.

use std::io;

use rustix::fs::StatVfs;

/// What happens to an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnConflict {
    Keep,
    Replace,
}

/// How many bytes are free on a disk. A system that knows no blocks knows no room either.
pub(crate) fn free_bytes(disk: &StatVfs) -> Option<u64> {
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Whether an error says that there is no room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
