//! `cargo xtask fuzz`: builds the fuzz targets with the stable compiler and runs each for a while.
//!
//! What cargo-fuzz does is done here with flags of the stable compiler: the coverage pass that
//! libFuzzer reads. A search follows its inputs into the dependencies too, which are built anew for
//! that; the short look of `cargo xtask ci` takes those that the tests were built with. Inputs that
//! were found interesting stay in `fuzz/corpus/<target>`, inputs that broke something in
//! `fuzz/artifacts/<target>`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;
use std::{env, fs, io};

use cargo_metadata::{Metadata, TargetKind};

use crate::failure::Failure;
use crate::process;
use crate::setup::{self, Occasion};
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

/// Set where cargo is to call this program instead of the compiler: see [`compile`].
const COMPILES: &str = "XTASK_COMPILES_FOR_FUZZING";

/// What one input may cost, and how large it may grow.
const LIMITS: &[&str] = &["-timeout=10", "-max_len=65536"];
/// The memory of most targets, in MiB.
const MEMORY_MIB: u32 = 2048;
/// Targets that unpack their input have less, so that an expansion without a bound is a finding.
const UNPACKING: &[(&str, u32)] = &[("html", 1024), ("pdf", 1024)];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let seconds = parse_seconds(arguments)?;
    setup::run(workspace, Occasion::Fuzz)?;
    let targets = targets(&workspace.metadata)?;
    let programs = build(workspace)?;
    run_targets(workspace, &programs, &targets, seconds)
}

/// Runs each target for so many seconds after the tests were built on this machine.
pub(crate) fn look(workspace: &Workspace, seconds: u32) -> Result<(), Failure> {
    let targets = targets(&workspace.metadata)?;
    let programs = build_beside_tests(workspace, &targets)?;
    run_targets(workspace, &programs, &targets, seconds)
}

/// Where cargo asked for a compiler, the exit code of the real one with our flags added.
pub(crate) fn compile(arguments: &[OsString]) -> Option<ExitCode> {
    env::var_os(COMPILES)?;
    let (compiler, rest) = arguments.split_first()?;
    let status = Command::new(compiler).args(rest).args(FLAGS).status();
    Some(if status.is_ok_and(|status| status.success()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run_targets(
    workspace: &Workspace,
    programs: &Path,
    targets: &[String],
    seconds: u32,
) -> Result<(), Failure> {
    for target in targets {
        run_target(workspace.root(), &programs.join(target), target, seconds)?;
    }
    Ok(())
}

fn parse_seconds(arguments: &[String]) -> Result<u32, Failure> {
    match arguments {
        [] => Ok(DEFAULT_SECONDS),
        // Zero would mean "without end" to libFuzzer.
        [word] => word.parse().ok().filter(|&seconds| seconds > 0).ok_or_else(|| {
            Failure::usage(format!("`{word}` is not a number of seconds of at least 1"))
        }),
        _ => Err(Failure::usage("`fuzz` takes one number of seconds")),
    }
}

/// Names of the binaries of the fuzz package.
fn targets(metadata: &Metadata) -> Result<Vec<String>, Failure> {
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

/// Builds the fuzz package and hands back the folder of its programs.
fn build(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let host = workspace.host_triple()?;
    // Its own folder, so that the flags do not undo what the other tasks built; and a named
    // platform, so that build scripts and macros are compiled without them.
    let target_directory = workspace.target_directory().join("fuzz");
    process::run(
        workspace
            .cargo()
            .args(["build", "--profile", "fuzz", "-p", PACKAGE, "--target", &host, "--target-dir"])
            .arg(&target_directory)
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env("RUSTFLAGS", FLAGS.join(" ")),
    )?;
    Ok(target_directory.join(host).join("fuzz"))
}

/// Builds the targets with the dependencies of the tests: the flags are for our own crates alone,
/// and `--workspace` makes cargo choose the same features.
fn build_beside_tests(workspace: &Workspace, targets: &[String]) -> Result<PathBuf, Failure> {
    let wrapper = copy_of_this_program(&workspace.target_directory().join("fuzz"))?;
    let mut command = workspace.cargo();
    command.args(["build", "--workspace"]);
    for target in targets {
        command.args(["--bin", target]);
    }
    process::run(command.env("RUSTC_WORKSPACE_WRAPPER", wrapper).env(COMPILES, "1"))?;
    Ok(workspace.target_directory().join("debug"))
}

/// Earlier steps of `cargo xtask ci` build the task runner anew where it stands, so cargo is given
/// a copy of the one that runs. Linux alone can still read a program whose file is gone.
fn copy_of_this_program(folder: &Path) -> Result<PathBuf, Failure> {
    let on_linux = Path::new("/proc/self/exe");
    let copy = folder.join("rustc-with-coverage");
    let copied = (|| {
        let this = if on_linux.exists() { on_linux.to_path_buf() } else { env::current_exe()? };
        fs::create_dir_all(folder)?;
        fs::copy(this, &copy)
    })();
    copied.map_err(|error: io::Error| {
        Failure::work(format!("cannot copy the task runner to {}: {error}", copy.display()))
    })?;
    Ok(copy)
}

fn run_target(root: &Path, program: &Path, target: &str, seconds: u32) -> Result<(), Failure> {
    let corpus = format!("fuzz/corpus/{target}");
    let seeds = format!("fuzz/seeds/{target}");
    let artifacts = format!("fuzz/artifacts/{target}");
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(root.join(folder))
            .map_err(|error| Failure::work(format!("cannot create {folder}: {error}")))?;
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
    let own = UNPACKING.iter().find(|(name, _)| *name == target);
    own.map_or(MEMORY_MIB, |(_, mib)| *mib)
}

/// When each file of a folder was last written; nothing for a folder that cannot be read.
fn modification_times(folder: &Path) -> BTreeMap<String, SystemTime> {
    let Ok(entries) = fs::read_dir(folder) else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let time = entry.metadata().ok()?.modified().ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), time))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_twenty_unless_told_and_never_zero() {
        let seconds = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            parse_seconds(&words).map_err(|failure| failure.exit_code())
        };
        assert_eq!(seconds(&[]), Ok(20));
        assert_eq!(seconds(&["3"]), Ok(3));
        assert_eq!(seconds(&["0"]), Err(2));
        assert_eq!(seconds(&["soon"]), Err(2));
        assert_eq!(seconds(&["3", "4"]), Err(2));
    }

    /// A stand-in for a fuzz target: a shell script that does what the test asks for.
    fn run_script(root: &Path, script: &str) -> Result<(), Failure> {
        // Written by another process: a program still open for writing here would be busy.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > program && chmod +x program";
        let mut shell = Command::new("sh");
        process::run(shell.current_dir(root).args(["-c", write, "sh", script])).unwrap();
        run_target(root, &root.join("program"), "validate", 3)
    }

    #[test]
    fn a_target_gets_its_folders_and_limits() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("fuzz/seeds/validate")).unwrap();
        run_script(root.path(), "echo \"$@\" > arguments").unwrap();
        let arguments = fs::read_to_string(root.path().join("arguments")).unwrap();
        assert_eq!(
            arguments.trim_end(),
            "fuzz/corpus/validate fuzz/seeds/validate -max_total_time=3 -rss_limit_mb=2048 \
             -timeout=10 -max_len=65536 -artifact_prefix=fuzz/artifacts/validate/"
        );
        assert!(root.path().join("fuzz/corpus/validate").is_dir());
        assert!(root.path().join("fuzz/artifacts/validate").is_dir());
    }

    #[test]
    fn targets_that_unpack_their_input_have_less_memory() {
        assert_eq!(
            (memory_mib("pdf"), memory_mib("html"), memory_mib("validate")),
            (1024, 1024, 2048)
        );
    }

    #[test]
    fn a_crash_names_its_artifact_and_how_to_reproduce_it() {
        let root = tempfile::tempdir().unwrap();
        let artifacts = root.path().join("fuzz/artifacts/validate");
        fs::create_dir_all(&artifacts).unwrap();
        fs::write(artifacts.join("crash-earlier"), "").unwrap();
        let crash = "touch fuzz/artifacts/validate/crash-now; exit 77";
        let text = run_script(root.path(), crash).unwrap_err().to_string();
        assert_eq!(
            text,
            "error: fuzz target `validate` broke on fuzz/artifacts/validate/crash-now\n\
             hint: reproduce it with `program fuzz/artifacts/validate/crash-now`"
        );
    }

    #[test]
    fn a_failure_without_an_artifact_keeps_its_own_message() {
        let root = tempfile::tempdir().unwrap();
        let text = run_script(root.path(), "exit 1").unwrap_err().to_string();
        assert!(text.contains("-max_total_time=3") && text.contains("exit status: 1"), "{text}");
    }
}
