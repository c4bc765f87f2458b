//! A small in-memory file system that fills up and can be made read-only.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A tmpfs of a given size, unmounted when dropped. Needs the right to mount.
#[derive(Debug)]
pub struct SmallDisk {
    mount: TempDir,
}

impl SmallDisk {
    pub fn mount(bytes: u64) -> SmallDisk {
        let mount = tempfile::tempdir().expect("a temporary folder");
        let options = format!("size={bytes},mode=0755");
        run("mount", ["-t", "tmpfs", "-o", &options, "tmpfs"], mount.path());
        SmallDisk { mount }
    }

    pub fn path(&self) -> &Path {
        self.mount.path()
    }

    /// Remounts it read-only, for root too.
    pub fn make_read_only(&self) {
        run("mount", ["-o", "remount,ro"], self.path());
    }

    pub fn make_writable(&self) {
        run("mount", ["-o", "remount,rw"], self.path());
    }

    /// Fills the free space with one file and returns its path.
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
        // Lazily: a process that a test killed may still be exiting.
        let _ = Command::new("umount").arg("-l").arg(self.mount.path()).status();
    }
}

fn run<const N: usize>(program: &str, arguments: [&str; N], path: &Path) {
    let output =
        Command::new(program).args(arguments).arg(path).output().expect("the program starts");
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        panic!("{program} {arguments:?} {}: {said} (these tests run as root)", path.display());
    }
}
