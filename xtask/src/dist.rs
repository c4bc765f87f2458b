//! `cargo xtask dist`: makes the artifacts that users install, and checks each by installing it.
//!
//! The artifacts depend only on the commit and the binary: entries are sorted, owners and modes are
//! fixed, and times are that of the commit. They are in a subfolder of `target/dist`, because cargo
//! writes the output of the profile `dist` there too.

mod binary;
mod channel;
mod check;
mod deb;
mod file_tree;
mod image;
mod release;
mod sbom;
mod tarball;
mod wheel;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::failure::{Failure, OrFail, Result};
use crate::workspace::{Workspace, create_empty};
use release::Release;

/// The variable with the path of the signing key, for CI.
const KEY_VARIABLE: &str = "AGENT_DIST_KEY";
const SUMS: &str = "SHA256SUMS";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let options = Options::parse(arguments)?;
    let folder = workspace.target_directory().join("dist");
    let release = Release::prepare(workspace, &options)?;
    let packages = folder.join("packages");
    for artifact in build(&release, &packages)? {
        println!("{:>12} bytes  {}", artifact.bytes.len(), packages.join(artifact.name).display());
    }
    image::write_context(&release, &folder.join("image"))?;
    if let Some(key) = &options.key {
        let channel = folder.join("downloads");
        channel::publish(&release, &packages, key, &channel)?;
        println!("signed manifest: {}", channel.join("manifest.json").display());
    } else {
        println!("signed manifest: none; use `--key FILE` or the variable {KEY_VARIABLE}");
    }
    if options.check { check::run(workspace, &release, &folder) } else { Ok(()) }
}

/// Builds all artifacts and their sums into an empty folder.
fn build(release: &Release, folder: &Path) -> Result<Vec<Artifact>> {
    let program = Artifact { name: release.stem(), bytes: release.binary.bytes.clone() };
    let mut artifacts = vec![
        program,
        tarball::plain(release)?,
        deb::build(release)?,
        wheel::build(release)?,
        tarball::npm_package(release)?,
        image::build(release)?,
        sbom::build(release)?,
    ];
    artifacts.sort_by(|one, other| one.name.cmp(&other.name));
    create_empty(folder)?;
    let mut sums = String::new();
    for Artifact { name, bytes } in &artifacts {
        sums += &format!("{}  {name}\n", sha256(bytes));
        write(&folder.join(name), bytes)?;
    }
    write(&folder.join(SUMS), sums.as_bytes())?;
    Ok(artifacts)
}

struct Artifact {
    name: String,
    bytes: Vec<u8>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// The binary to pack; without it, cargo builds one.
    binary: Option<PathBuf>,
    /// The program that prints completions and man pages; by default, the binary.
    generator: Option<PathBuf>,
    key: Option<PathBuf>,
    allow_dirty: bool,
    check: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options =
            Self { key: env::var_os(KEY_VARIABLE).map(PathBuf::from), ..Self::default() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let path = match word.as_str() {
                "--allow-dirty" => {
                    options.allow_dirty = true;
                    continue;
                }
                "--check" => {
                    options.check = true;
                    continue;
                }
                "--binary" => &mut options.binary,
                "--generator" => &mut options.generator,
                "--key" => &mut options.key,
                unknown => {
                    return Err(Failure::usage(format!("`dist` has no option `{unknown}`")));
                }
            };
            let value = words.next();
            let value = value.ok_or_else(|| Failure::usage(format!("`{word}` needs a path")))?;
            let value = std::path::absolute(value);
            let value = value.map_err(|error| Failure::usage(format!("`{word}`: {error}")))?;
            *path = Some(value);
        }
        Ok(options)
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).or_fail(format!("cannot read {}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result {
    fs::write(path, bytes).or_fail(format!("cannot write {}", path.display()))
}

fn sorted_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).or_fail(format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests;
