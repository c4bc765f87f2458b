//! What all artifacts are made of: the binary, its documents, and the facts of the commit.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::Metadata;

use super::binary::Binary;
use super::{Options, read, sorted_files};
use crate::failure::{Failure, OrFail, Result};
use crate::process;
use crate::workspace::Workspace;

pub(super) const LICENCES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];
pub(super) const DESCRIPTION: &str = "MCP client, task agent and members-only AI gateway";
pub(super) const LICENCE: &str = "MIT OR Apache-2.0";

/// Names of a platform in each kind of artifact.
pub(super) struct Platform {
    pub(super) triple: &'static str,
    /// In Python wheels.
    pub(super) machine: &'static str,
    pub(super) debian: &'static str,
    pub(super) npm: &'static str,
}

const PLATFORMS: &[Platform] = &[
    Platform { triple: "x86_64-unknown-linux-gnu", machine: "x86_64", debian: "amd64", npm: "x64" },
    Platform {
        triple: "aarch64-unknown-linux-gnu",
        machine: "aarch64",
        debian: "arm64",
        npm: "arm64",
    },
];

/// The shells, and the names of their completions in a tarball and below `/usr/share`.
pub(super) const SHELLS: &[(&str, &str, &str)] = &[
    ("bash", "agent.bash", "bash-completion/completions/agent"),
    ("fish", "agent.fish", "fish/vendor_completions.d/agent.fish"),
    ("zsh", "_agent", "zsh/vendor-completions/_agent"),
];

pub(super) struct Release {
    pub(super) root: PathBuf,
    pub(super) version: String,
    pub(super) platform: &'static Platform,
    /// The time of the commit: seconds since 1970, and as RFC 3339.
    pub(super) epoch: u64,
    pub(super) timestamp: String,
    pub(super) binary: Binary,
    /// File name and text of each man page.
    pub(super) man_pages: Vec<(String, Vec<u8>)>,
    /// In the order of [`SHELLS`].
    pub(super) completions: Vec<Vec<u8>>,
    pub(super) metadata: Metadata,
}

impl Release {
    pub(super) fn prepare(workspace: &Workspace, options: &Options) -> Result<Self> {
        let root = workspace.root().to_owned();
        if !options.allow_dirty && !git(&root, &["status", "--porcelain"])?.is_empty() {
            return Err(Failure::work("the working tree has uncommitted changes")
                .with_hint("commit them, or use `--allow-dirty`"));
        }
        let version = version(workspace)?;
        let triple = workspace.host_triple()?;
        let platform = PLATFORMS.iter().find(|platform| platform.triple == triple);
        let platform = platform
            .ok_or_else(|| Failure::work(format!("`dist` makes no artifacts for {triple}")))?;
        let path = match &options.binary {
            Some(path) => path.clone(),
            None => compile(workspace)?,
        };
        let binary = Binary::load(&path)?;
        let generator = Generator(options.generator.clone().unwrap_or(path));
        generator.check_version(&version)?;
        let time = ["log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%ct %cd"];
        let time = git(&root, &time)?;
        let (epoch, timestamp) = time.split_once(' ').unwrap_or_default();
        let epoch = epoch.parse().or_fail(format!("git printed the time `{time}`"))?;
        Ok(Self {
            version,
            platform,
            epoch,
            timestamp: timestamp.to_owned(),
            binary,
            man_pages: generator.man_pages()?,
            completions: generator.completions()?,
            metadata: workspace.resolved_metadata()?,
            root,
        })
    }

    /// The common beginning of file names.
    pub(super) fn stem(&self) -> String {
        format!("agent-{}-{}", self.version, self.platform.triple)
    }

    pub(super) fn source(&self, path: &str) -> Result<Vec<u8>> {
        read(&self.root.join(path))
    }

    /// A template from `packaging` with its `@NAME@`s filled in.
    pub(super) fn template(&self, path: &str, values: &[(&str, &str)]) -> Result<String> {
        let text = String::from_utf8_lossy(&self.source(path)?).into_owned();
        Ok(values.iter().fold(text, |text, (name, value)| text.replace(name, value)))
    }
}

/// Debian, Python and semantic versions write pre-releases differently; none is made so far.
fn version(workspace: &Workspace) -> Result<String> {
    let packages = workspace.metadata.workspace_packages();
    let package = packages.iter().find(|package| package.name == "agent");
    let version = package.map(|package| package.version.clone());
    let version = version.ok_or_else(|| Failure::work("the workspace has no package `agent`"))?;
    if version.pre.is_empty() && version.build.is_empty() {
        return Ok(version.to_string());
    }
    Err(Failure::work(format!("`dist` does not support the pre-release {version}")))
}

fn compile(workspace: &Workspace) -> Result<PathBuf> {
    let arguments = ["build", "--profile", "dist", "--locked", "--bin", "agent"];
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    let flags = path_flags(workspace.root(), cargo_home.as_deref());
    process::run(workspace.cargo().args(arguments).env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    Ok(workspace.target_directory().join("dist").join("agent"))
}

/// Compiler flags that keep the folders of this machine out of the binary.
pub(super) fn path_flags(root: &Path, cargo_home: Option<&Path>) -> String {
    let folders = [(Some(root), "/agent"), (cargo_home, "/cargo")];
    let flag = |(from, to): (Option<&Path>, &str)| {
        Some(format!("--remap-path-prefix={}={to}", from?.display()))
    };
    folders.into_iter().filter_map(flag).collect::<Vec<_>>().join("\x1f")
}

fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    let output = process::capture(command.current_dir(root).env("TZ", "UTC").args(arguments))?;
    Ok(output.trim_end().to_owned())
}

/// The program that prints its completions and man pages.
struct Generator(PathBuf);

impl Generator {
    fn check_version(&self, version: &str) -> Result {
        let printed = self.output(&["--version"])?;
        if printed.trim_end() == format!("agent {version}") {
            return Ok(());
        }
        let path = self.0.display();
        Err(Failure::work(format!("{path} is `{}`, not {version}", printed.trim_end())))
    }

    fn completions(&self) -> Result<Vec<Vec<u8>>> {
        let print = |shell| self.output(&["completions", shell]).map(String::into_bytes);
        SHELLS.iter().map(|(shell, ..)| print(shell)).collect()
    }

    fn man_pages(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let folder = tempfile::tempdir().or_fail("cannot collect the man pages")?;
        self.output(&["man", "--out", &folder.path().to_string_lossy()])?;
        let mut pages = Vec::new();
        for path in sorted_files(folder.path())? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            pages.push((name, read(&path)?));
        }
        if pages.iter().any(|(name, _)| name == "agent.1") {
            return Ok(pages);
        }
        Err(Failure::work(format!("`{} man` wrote no agent.1", self.0.display())))
    }

    /// The output of the program, independent of the settings of the caller.
    fn output(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.0);
        command.args(arguments).env("AGENT_HOME", env::temp_dir().join("agent-dist-home"));
        process::capture(&mut command)
    }
}
