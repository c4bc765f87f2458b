//! A wall clock that a test shifts for the processes it starts.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::mcp::installed::script;

/// A clock for child processes; their monotonic clock is not shifted.
#[derive(Debug)]
pub struct MovableClock {
    offset: File,
    folder: TempDir,
}

impl MovableClock {
    /// Builds the library that the processes preload.
    #[expect(clippy::new_without_default, reason = "it starts a compiler")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // PostgreSQL runs as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        let offset = File::create(folder.path().join("offset")).expect("a file");
        let built = Command::new("cc")
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(folder.path().join("clock.so"))
            .arg(script("clock.c"))
            .status();
        assert!(built.expect("cc starts").success(), "clock.c does not compile");
        let clock = Self { offset, folder };
        clock.set(0);
        clock
    }

    /// Sets the clock of all processes this many seconds ahead of the machine's.
    pub fn set(&self, seconds: i64) {
        self.offset.write_all_at(&seconds.to_ne_bytes(), 0).expect("the offset is written");
    }

    pub fn variables(&self) -> [(&'static str, std::path::PathBuf); 2] {
        let file = |name: &str| Path::join(self.folder.path(), name);
        [("LD_PRELOAD", file("clock.so")), ("TEST_CLOCK", file("offset"))]
    }
}

#[cfg(test)]
mod tests;
