//! `cargo xtask dist --check`: installs each artifact on its own and uses the program.
//!
//! A check that this machine cannot run is reported with the reason, never as passed.

mod debian;
mod download;
mod image;
mod service;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::release::Release;
use super::{SUMS, build, read};
use crate::failure::{Failure, OrFail, Result};
use crate::process;
use crate::setup::{self, PeerFolders, Task, find_program};
use crate::workspace::{Workspace, create_empty};

/// The worst exposure level that `systemd-analyze security` may report, in tenths of a point.
const MAX_EXPOSURE: &str = "20";

struct Context<'a> {
    release: &'a Release,
    packages: PathBuf,
    /// The folder that the Containerfile is built in.
    image: PathBuf,
    /// The model that `agent up` answers with: artifacts have none.
    model: PathBuf,
    peers: PeerFolders,
    /// An empty folder of this check.
    scratch: PathBuf,
}

enum Outcome {
    /// What was run, and what it printed.
    Passed(String),
    NotRun(String),
}

type Check = fn(&Context<'_>) -> Result<Outcome>;

/// The name of each check, and the programs that it needs.
const CHECKS: &[(&str, &[&str], Check)] = &[
    ("reproducible", &[], reproducible),
    ("checksums", &["sha256sum"], checksums),
    ("scripts", &["shellcheck"], scripts),
    ("systemd unit", &["systemd-analyze"], systemd_unit),
    ("tarball", &[], tarball),
    ("wheel", &["python3", "curl"], wheel),
    ("pipx and uvx", &["curl"], pipx_and_uvx),
    ("npm package", &["npm", "npx", "curl"], npm_package),
    ("debian package", &["mmdebstrap", "unshare", "curl"], debian::check),
    ("image", &["buildah", "podman", "runc", "curl"], image::check),
    ("signed downloads", &["python3", "curl"], download::check),
];

pub(super) fn run(workspace: &Workspace, release: &Release, folder: &Path) -> Result {
    setup::run(workspace, Task::Dist)?;
    let peers = PeerFolders::of(workspace);
    let mut context = Context {
        release,
        packages: folder.join("packages"),
        image: folder.join("image"),
        model: setup::weights_path(&peers),
        peers,
        scratch: PathBuf::new(),
    };
    let mut failed = Vec::new();
    let mut skipped = 0;
    for (name, programs, check) in CHECKS {
        context.scratch = folder.join("check").join(name.replace(' ', "-"));
        create_empty(&context.scratch)?;
        let started = Instant::now();
        let result = missing(programs).map_or_else(|| check(&context), Ok);
        let seconds = started.elapsed().as_secs_f64();
        match result {
            Ok(Outcome::Passed(detail)) => println!("{name}: ok ({seconds:.1} s): {detail}"),
            Ok(Outcome::NotRun(reason)) => {
                skipped += 1;
                println!("{name}: not run: {reason}");
            }
            Err(failure) => {
                println!("{name}: FAILED ({seconds:.1} s): {failure}");
                failed.push(*name);
            }
        }
    }
    let passed = CHECKS.len() - failed.len() - skipped;
    println!("dist: {passed} checks passed, {} failed, {skipped} not run", failed.len());
    if failed.is_empty() {
        return fs::remove_dir_all(folder.join("check")).or(Ok(()));
    }
    Err(Failure::work(format!("failed: {}", failed.join(", "))))
}

impl Context<'_> {
    /// The artifact whose name ends like this.
    fn artifact(&self, ending: &str) -> Result<PathBuf> {
        let entries = fs::read_dir(&self.packages).into_iter().flatten().flatten();
        let mut paths = entries.map(|entry| entry.path());
        paths
            .find(|path| path.to_string_lossy().ends_with(ending))
            .ok_or_else(|| Failure::work(format!("there is no artifact *{ending}")))
    }

    fn expect_version(&self, command: &mut Command) -> Result<String> {
        let printed = process::capture(command)?.trim().to_owned();
        if printed == format!("agent {}", self.release.version) {
            return Ok(printed);
        }
        Err(Failure::work(format!("`agent --version` printed `{printed}`")))
    }

    /// A home folder with a model.
    fn home(&self) -> Result<PathBuf> {
        let home = self.scratch.join("home");
        self.add_model(&home.join(".agent/models"))?;
        Ok(home)
    }

    fn add_model(&self, folder: &Path) -> Result {
        let name = self.model.file_name().unwrap_or_default();
        fs::create_dir_all(folder)
            .and_then(|()| fs::copy(&self.model, folder.join(name)))
            .map(drop)
            .or_fail("cannot copy the model")
    }
}

/// The reason if a program is missing.
fn missing(programs: &[&str]) -> Option<Outcome> {
    let program = programs.iter().find(|name| find_program(name).is_none())?;
    Some(Outcome::NotRun(format!("{program} is not installed")))
}

fn reproducible(context: &Context<'_>) -> Result<Outcome> {
    let again = context.scratch.join("packages");
    build(context.release, &again)?;
    let sums = |folder: &Path| Ok(String::from_utf8_lossy(&read(&folder.join(SUMS))?).into_owned());
    let (first, second): (String, String) = (sums(&context.packages)?, sums(&again)?);
    let changed = first.lines().zip(second.lines()).find(|(one, other)| one != other);
    match changed {
        None => Ok(Outcome::Passed(format!("{} artifacts built twice", first.lines().count()))),
        Some((line, _)) => Err(Failure::work(format!("the second build differs: {line}"))),
    }
}

/// As `docs/install.md` says: the sums match, and a damaged file is found.
fn checksums(context: &Context<'_>) -> Result<Outcome> {
    let verify = |folder: &Path| {
        let options = ["--check", "--strict", "--ignore-missing", SUMS];
        process::capture(Command::new("sha256sum").args(options).current_dir(folder))
    };
    let files = verify(&context.packages)?.lines().count();
    let artifact = context.artifact(".whl")?;
    let name = artifact.file_name().unwrap_or_default();
    let mut bytes = read(&artifact)?;
    bytes[0] ^= 1;
    super::write(&context.scratch.join(name), &bytes)?;
    super::write(&context.scratch.join(SUMS), &read(&context.packages.join(SUMS))?)?;
    if verify(&context.scratch).is_ok() {
        return Err(Failure::work("sha256sum accepted a damaged file"));
    }
    Ok(Outcome::Passed(format!("sha256sum --check: {files} files; a damaged one is rejected")))
}

fn scripts(context: &Context<'_>) -> Result<Outcome> {
    let scripts = ["install.sh", "packaging/debian/postinst", "packaging/debian/prerm"];
    let scripts = scripts.iter().chain(&["packaging/debian/postrm"]);
    process::capture(Command::new("shellcheck").args(scripts).current_dir(&context.release.root))?;
    Ok(Outcome::Passed("shellcheck install.sh packaging/debian/*".to_owned()))
}

fn systemd_unit(context: &Context<'_>) -> Result<Outcome> {
    // `verify` wants the program to exist, and this machine has not installed the package.
    let program = context.release.binary.path.to_string_lossy().into_owned();
    let values = [("/usr/bin/agent", program.as_str())];
    let unit = context.release.template("packaging/agent-gateway.service", &values)?;
    let path = context.scratch.join("agent-gateway.service");
    super::write(&path, unit.as_bytes())?;
    let verify = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output();
    let verify = verify.or_fail("systemd-analyze")?;
    let complaints = String::from_utf8_lossy(&verify.stderr).into_owned();
    if !verify.status.success() || !complaints.is_empty() {
        return Err(Failure::work(format!("systemd-analyze verify: {}", complaints.trim_end())));
    }
    let threshold = format!("--threshold={MAX_EXPOSURE}");
    let review = process::capture(
        Command::new("systemd-analyze")
            .args(["security", "--offline=true", "--no-pager", &threshold])
            .arg(&path),
    )?;
    let level = review.lines().find_map(|line| line.split_once("service: "));
    let level = level.map_or("unknown", |(_, level)| level.trim());
    Ok(Outcome::Passed(format!("systemd-analyze verify: no findings; security: {level}")))
}

fn tarball(context: &Context<'_>) -> Result<Outcome> {
    let archive = context.artifact(".tar.gz")?;
    process::capture(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&context.scratch))?;
    let folder = context.scratch.join(context.release.stem());
    for name in ["LICENSE-MIT", "man/agent.1", "completions/agent.bash", "completions/_agent"] {
        read(&folder.join(name))?;
    }
    let version = context.expect_version(Command::new(folder.join("agent")).arg("--version"))?;
    Ok(Outcome::Passed(format!("tar -xzf; agent --version: {version}")))
}

fn wheel(context: &Context<'_>) -> Result<Outcome> {
    let environment = context.scratch.join("venv");
    process::capture(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let pip = ["-m", "pip", "install", "--quiet", "--no-index"];
    let python = environment.join("bin/python");
    process::capture(Command::new(python).args(pip).arg(context.artifact(".whl")?))?;
    let agent = environment.join("bin/agent");
    let version = context.expect_version(Command::new(&agent).arg("--version"))?;
    let answer = service::up(Command::new(&agent), &context.home()?)?;
    Ok(Outcome::Passed(format!(
        "pip install; agent --version: {version}; agent up with a model file: {answer}"
    )))
}

fn pipx_and_uvx(context: &Context<'_>) -> Result<Outcome> {
    let programs = context.peers.folder("installers").join("bin");
    if !programs.is_dir() {
        return Ok(Outcome::NotRun("Python has no virtual environments here".to_owned()));
    }
    let wheel = context.artifact(".whl")?;
    let home = context.home()?;
    let mut pipx = Command::new(programs.join("pipx"));
    pipx.args(["install", "--quiet", "--pip-args=--no-index"]).arg(&wheel);
    process::capture(pipx.env("HOME", &home).env("PIPX_HOME", home.join("pipx")))?;
    let agent = home.join(".local/bin/agent");
    let version = context.expect_version(Command::new(&agent).arg("--version"))?;
    let answer = service::up(Command::new(&agent), &home)?;
    let mut uvx = Command::new(programs.join("uvx"));
    uvx.args(["--offline", "--no-index", "--from"]).arg(&wheel).args(["agent", "--version"]);
    context.expect_version(uvx.env("HOME", &home))?;
    Ok(Outcome::Passed(format!(
        "pipx install; agent --version: {version}; agent up with a model file: {answer}; \
         uvx --from WHEEL agent --version: {version}"
    )))
}

fn npm_package(context: &Context<'_>) -> Result<Outcome> {
    let folder = context.scratch.join("project");
    create_empty(&folder)?;
    let install = ["install", "--offline", "--no-audit", "--no-fund"];
    let package = context.artifact(".tgz")?;
    process::capture(Command::new("npm").args(install).arg(package).current_dir(&folder))?;
    let mut npx = Command::new("npx");
    npx.args(["--no-install", "agent", "--version"]).current_dir(&folder);
    let version = context.expect_version(&mut npx)?;
    // Not through npx: it does not pass on a kill.
    let agent = folder.join("node_modules/.bin/agent");
    let answer = service::up(Command::new(agent), &context.home()?)?;
    Ok(Outcome::Passed(format!(
        "npm install; npx agent --version: {version}; agent up with a model file: {answer}"
    )))
}

#[cfg(test)]
mod tests;
