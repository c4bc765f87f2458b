//! `cargo xtask fuzz`: builds the fuzz targets with the stable compiler and runs each for a while.
//!
//! Flags of the stable compiler add the coverage that libFuzzer needs, as cargo-fuzz does with the
//! nightly one. Interesting inputs are kept in `fuzz/corpus/<target>`, crashing ones in
//! `fuzz/artifacts/<target>`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use cargo_metadata::{Metadata, TargetKind};

use crate::failure::{Failure, OrFail, Result};
use crate::process;
use crate::setup::{self, Task};
use crate::workspace::Workspace;

const PACKAGE: &str = "agent-fuzz";
const DEFAULT_SECONDS: u32 = 20;

const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Time and size limits of an input.
const LIMITS: &[&str] = &["-timeout=60", "-max_len=65536"];
const MEMORY_MIB: u32 = 2048;
/// Targets that decompress their input have less, so that an unbounded expansion is a finding.
const DECOMPRESSING: &[(&str, u32)] = &[("html", 1024), ("pdf", 1024)];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let seconds = parse_seconds(arguments)?;
    setup::run(workspace, Task::Fuzz)?;
    let targets = targets(&workspace.metadata)?;
    let programs = build(workspace)?;
    targets
        .iter()
        .try_for_each(|name| run_target(workspace.root(), &programs.join(name), name, seconds))
}

fn parse_seconds(arguments: &[String]) -> Result<u32> {
    match arguments {
        [] => Ok(DEFAULT_SECONDS),
        // libFuzzer takes zero as no limit.
        [word] => word.parse().ok().filter(|&seconds| seconds > 0).ok_or_else(|| {
            Failure::usage(format!("`{word}` is not a number of seconds of at least 1"))
        }),
        _ => Err(Failure::usage("`fuzz` takes one number of seconds")),
    }
}

/// The binaries of the fuzz package.
fn targets(metadata: &Metadata) -> Result<Vec<String>> {
    let names: Vec<String> = metadata
        .workspace_packages()
        .iter()
        .filter(|package| package.name == PACKAGE)
        .flat_map(|package| &package.targets)
        .filter(|target| target.kind.contains(&TargetKind::Bin))
        .map(|target| target.name.clone())
        .collect();
    if names.is_empty() {
        return Err(Failure::work(format!("the package `{PACKAGE}` has no fuzz targets")));
    }
    Ok(names)
}

/// Builds the fuzz package and returns the folder of its programs.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let host = workspace.host_triple()?;
    // A separate folder, so that the flags do not invalidate other builds; and an explicit
    // platform, so that build scripts and macros are compiled without them.
    let target_directory = workspace.target_directory().join("fuzz");
    process::run(
        workspace
            .cargo()
            .args(["build", "--profile", "fuzz", "-p", PACKAGE, "--features", "run"])
            .args(["--target", &host, "--target-dir"])
            .arg(&target_directory)
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env("RUSTFLAGS", FLAGS.join(" ")),
    )?;
    Ok(target_directory.join(host).join("fuzz"))
}

fn run_target(root: &Path, program: &Path, target: &str, seconds: u32) -> Result {
    let corpus = format!("fuzz/corpus/{target}");
    let seeds = format!("fuzz/seeds/{target}");
    let artifacts = format!("fuzz/artifacts/{target}");
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(root.join(folder)).or_fail(format!("cannot create {folder}"))?;
    }
    let before = modification_times(&root.join(&artifacts));

    let mut command = Command::new(program);
    command.current_dir(root).arg(&corpus);
    if root.join(&seeds).is_dir() {
        command.arg(&seeds);
    }
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={}", memory_mib(target)))
        .args(LIMITS)
        .arg(format!("-artifact_prefix={artifacts}/"));
    process::run(&mut command).map_err(|failure| {
        let after = modification_times(&root.join(&artifacts));
        match after.into_iter().find(|(name, time)| before.get(name) != Some(time)) {
            Some((name, _)) => {
                let program = program.strip_prefix(root).unwrap_or(program).display();
                let artifact = format!("{artifacts}/{name}");
                Failure::work(format!("fuzz target `{target}` broke on {artifact}"))
                    .with_hint(format!("reproduce it with `{program} {artifact}`"))
            }
            None => failure,
        }
    })
}

fn memory_mib(target: &str) -> u32 {
    let own = DECOMPRESSING.iter().find(|(name, _)| *name == target);
    own.map_or(MEMORY_MIB, |(_, mib)| *mib)
}

/// The modification time of each file; empty for an unreadable folder.
fn modification_times(folder: &Path) -> BTreeMap<String, SystemTime> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let time = entry.metadata().ok()?.modified().ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), time))
        })
        .collect()
}

#[cfg(test)]
mod tests;
