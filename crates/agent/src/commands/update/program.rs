//! The installed program: its path, whether we may replace it, and its replacement.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use semver::Version;
use task_loop::untrusted::printable;
use usage_metrics::mapping::resource::{InstallFacts, detect_install_method};

use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::session::Session;

#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    folder: PathBuf,
    name: String,
    pub(super) mode: u32,
}

impl Program {
    pub(super) fn running() -> Result<Self> {
        let path = std::env::current_exe().and_then(|path| path.canonicalize());
        let found = path.and_then(|path| fs::metadata(&path).map(|file| (path, file)));
        let (path, file) = found.or_diagnostic(
            Diagnostic::failed("cannot find the path of this program")
                .hint("it may have been moved or replaced since it started"),
        )?;
        let mode = file.permissions().mode();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self { path, folder, name, mode: mode & 0o777 })
    }

    /// Fails if a package manager installed this program.
    pub(super) fn check_is_ours(&self, session: &Session) -> Result {
        let path = self.path.display();
        let declared = session.environment.install_method().map(str::trim);
        let declared = declared.filter(|method| !method.is_empty());
        let facts = InstallFacts { declared, executable: Some(&self.path), in_container: false };
        let found = detect_install_method(&facts).text();
        let is_of_npm = self.path.components().any(|part| part.as_os_str() == "node_modules");
        let method = match found {
            "unknown" if is_of_npm => "npm",
            "unknown" => declared.unwrap_or(found),
            found => found,
        };
        let hint = match method {
            "unknown" => None,
            "git" => Some("pull the sources and build it again"),
            "docker" => Some("use a newer image"),
            "nixos" | "home-manager" => Some("update the inputs of your configuration"),
            "apt" => Some("update it with `apt upgrade`"),
            "homebrew" => Some("update it with `brew upgrade`"),
            "npm" => Some("update it with `npm install --global`"),
            "pip" => Some("update it with `pip install --upgrade`"),
            _ => Some("update it the way it was installed"),
        };
        if let Some(hint) = hint {
            let message = format!("{path} was installed by {}", printable(method));
            return Err(Diagnostic::failed(format!("{message}, which updates it")).hint(hint));
        }
        if let Err(error) = access(&self.folder, Access::WRITE_OK) {
            let folder = self.folder.display();
            return Err(Diagnostic::failed(format!("no permission to replace {path}"))
                .because(&io::Error::from(error))
                .hint(format!("run this as a user who can write to {folder}"))
                .hint("if a package manager installed it, update it with the package manager"));
        }
        Ok(())
    }

    /// Allows one update at a time, until the file is dropped. Locks the folder itself, so that no
    /// lock file is left behind.
    pub(super) fn lock(&self) -> Result<File> {
        let folder = File::open(&self.folder).or_cannot("replace", &self.path)?;
        match folder.try_lock() {
            Ok(()) => Ok(folder),
            Err(TryLockError::WouldBlock) => {
                let message = format!("another update of {} is running", self.path.display());
                Err(Diagnostic::failed(message).hint("wait until it has finished"))
            }
            Err(TryLockError::Error(error)) => Err(error).or_cannot("replace", &self.path),
        }
    }

    pub(super) fn beside(&self, version: &Version) -> PathBuf {
        self.folder.join(format!(".{}-{version}", self.name))
    }

    pub(super) fn previous(&self) -> PathBuf {
        self.folder.join(format!("{}.previous", self.name))
    }

    /// Replaces this program and keeps a copy. The path always has a program.
    pub(super) fn switch_to(&self, fresh: &Path) -> Result {
        self.exchange(|spare| {
            fs::rename(spare, self.previous())?;
            fs::rename(fresh, &self.path)
        })
    }

    /// Exchanges this program with the previous one.
    pub(super) fn roll_back(&self) -> Result {
        self.exchange(|spare| {
            fs::rename(self.previous(), &self.path)?;
            fs::rename(spare, self.previous())
        })
    }

    /// Exchanges programs, with a hard link to this one.
    fn exchange(&self, work: impl FnOnce(&Path) -> io::Result<()>) -> Result {
        let spare = self.folder.join(format!(".{}.previous", self.name));
        let _ = fs::remove_file(&spare);
        // Without hard links, a copy.
        fs::hard_link(&self.path, &spare)
            .or_else(|_| fs::copy(&self.path, &spare).map(drop))
            .and_then(|()| work(&spare))
            .or_cannot("replace", &self.path)?;
        // Renaming between two links of one file does nothing.
        let _ = fs::remove_file(&spare);
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }
}
