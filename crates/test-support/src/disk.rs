//! File systems that fail: a small one that fills up, and that can be made read-only.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A file system in memory, of a given size, gone when dropped. Needs the right to mount.
#[derive(Debug)]
pub struct SmallDisk {
    mount: TempDir,
}

impl SmallDisk {
    /// Mounts a file system of this many bytes.
    ///
    /// # Panics
    /// If it cannot be mounted; run the tests as root.
    #[expect(clippy::expect_used, reason = "a test without its disk cannot go on")]
    pub fn mount(bytes: u64) -> SmallDisk {
        let mount = tempfile::tempdir().expect("a temporary folder");
        let options = format!("size={bytes},mode=0755");
        run("mount", ["-t", "tmpfs", "-o", &options, "tmpfs"], mount.path());
        SmallDisk { mount }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.mount.path()
    }

    /// Takes the right to write away from everybody, root included.
    pub fn make_read_only(&self) {
        run("mount", ["-o", "remount,ro"], self.path());
    }

    /// Gives it back.
    pub fn make_writable(&self) {
        run("mount", ["-o", "remount,rw"], self.path());
    }

    /// Fills what is left with one file and returns its path.
    ///
    /// # Panics
    /// If the file cannot be made.
    #[expect(clippy::expect_used, reason = "a test without its disk cannot go on")]
    pub fn fill(&self) -> std::path::PathBuf {
        use std::io::Write;
        let path = self.path().join("ballast");
        let mut file = std::fs::File::create(&path).expect("a file");
        let mut block = 64 * 1024;
        while block > 0 {
            while file.write_all(&vec![b'x'; block]).is_ok() {}
            block /= 2;
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that a test killed may still be going down.
        let _ = Command::new("umount").arg("-l").arg(self.mount.path()).status();
    }
}

#[expect(clippy::expect_used, clippy::panic, reason = "a test without its disk cannot go on")]
fn run<const N: usize>(program: &str, arguments: [&str; N], path: &Path) {
    let output =
        Command::new(program).args(arguments).arg(path).output().expect("the program starts");
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        panic!("{program} {arguments:?} {}: {said} (these tests run as root)", path.display());
    }
}
