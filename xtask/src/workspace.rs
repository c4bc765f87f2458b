//! The cargo workspace: its metadata, and commands that run in it.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand};

use crate::failure::{Failure, OrFail, Result};
use crate::process;

/// The workspace of the current folder.
pub(crate) struct Workspace {
    /// Members only; [`Workspace::resolved_metadata`] has their dependencies too.
    pub(crate) metadata: Metadata,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().or_fail(UNREADABLE)?;
        Ok(Self { metadata })
    }

    pub(crate) fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    pub(crate) fn target_directory(&self) -> PathBuf {
        self.metadata.target_directory.clone().into_std_path_buf()
    }

    /// Folders of the members, relative to the root and with forward slashes.
    pub(crate) fn member_folders(&self) -> Vec<String> {
        self.metadata
            .workspace_packages()
            .iter()
            .filter_map(|package| package.manifest_path.parent())
            .filter_map(|folder| folder.strip_prefix(&self.metadata.workspace_root).ok())
            .map(|folder| folder.as_str().replace('\\', "/"))
            .collect()
    }

    /// The metadata with the graph of all dependencies on this machine's platform.
    pub(crate) fn resolved_metadata(&self) -> Result<Metadata> {
        let platform = vec!["--filter-platform".to_owned(), self.host_triple()?];
        MetadataCommand::new()
            .current_dir(self.root())
            .other_options(platform)
            .exec()
            .or_fail(UNREADABLE)
    }

    /// A command of the cargo that started this task, run in the root of the workspace.
    ///
    /// The variables of the xtask package are removed: build scripts depend on them, and would run
    /// again whenever cargo is called by hand and by a task in turn.
    pub(crate) fn cargo(&self) -> Command {
        let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(program);
        command.current_dir(self.root());
        for (name, _) in env::vars_os().filter(|(name, _)| is_package_variable(name)) {
            command.env_remove(name);
        }
        command
    }

    /// The platform that the compiler runs on, such as `x86_64-unknown-linux-gnu`.
    pub(crate) fn host_triple(&self) -> Result<String> {
        let about = process::capture(Command::new("rustc").arg("-vV").current_dir(self.root()))?;
        about
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .map(str::to_owned)
            .ok_or_else(|| Failure::work("`rustc -vV` names no host"))
    }
}

/// Creates an empty folder; removes the content of an earlier run.
pub(crate) fn create_empty(folder: &Path) -> Result {
    let failed = format!("cannot renew {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).or_fail(&failed)?;
    }
    fs::create_dir_all(folder).or_fail(&failed)
}

const UNREADABLE: &str = "cannot read the workspace";

/// Whether cargo sets this variable to describe the package of a program.
fn is_package_variable(name: &OsStr) -> bool {
    let prefixes = ["CARGO_PKG_", "CARGO_MANIFEST_"];
    name.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests;
