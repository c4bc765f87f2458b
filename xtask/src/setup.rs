//! Installs the software that tasks need and the machine lacks.
//!
//! The table is in `setup/requirements.toml`. Every installation prints what is missing and the
//! command that it runs.

mod peer_folders;
mod requirements;
mod weights;

use std::process::Command;
use std::thread::{Scope, ScopedJoinHandle};

use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

pub(crate) use peer_folders::PeerFolders;
use requirements::{APT, REQUIREMENTS, Requirement};
pub(crate) use requirements::{Task, find_program};
pub(crate) use weights::path as weights_path;

/// The words of a command line.
type CommandLine = Vec<String>;

/// Installs what the task needs and the machine lacks.
pub(crate) fn run(workspace: &Workspace, task: Task) -> Result {
    let peers = PeerFolders::of(workspace);
    let mut missing: Vec<&Requirement> = REQUIREMENTS
        .iter()
        .filter(|needed| needed.tasks.contains(&task) && !needed.is_installed(&peers))
        .collect();
    let access = AptAccess::probe();
    if access != AptAccess::Root {
        missing.retain(|needed| !(needed.uses_apt() && needed.optional));
    }
    if missing.is_empty() {
        println!("setup: nothing to install");
        return Ok(());
    }
    if missing.iter().any(|needed| needed.uses_apt()) {
        check_apt_access(&missing, access)?;
        run_line(&["apt-get".to_owned(), "update".to_owned()])?;
    }
    for requirement in missing {
        install(requirement, &peers)?;
    }
    Ok(())
}

/// The installation of what the tests need, in the background.
pub(crate) struct Installation<'scope>(ScopedJoinHandle<'scope, Result>);

impl<'scope> Installation<'scope> {
    /// Installs what a build needs, and starts to install the rest while the caller builds.
    pub(crate) fn start(
        scope: &'scope Scope<'scope, '_>,
        workspace: &'scope Workspace,
    ) -> Result<Self> {
        run(workspace, Task::Build)?;
        Ok(Self(scope.spawn(|| run(workspace, Task::Test))))
    }

    pub(crate) fn wait(self) -> Result {
        let panicked = |_| Err(Failure::work("the installation panicked"));
        self.0.join().unwrap_or_else(panicked)
    }
}

fn install(requirement: &Requirement, peers: &PeerFolders) -> Result {
    println!("setup: {} is missing ({})", requirement.name, requirement.reason);
    run_first_working(&requirement.recipes(peers))
        .and_then(|()| verify(requirement, peers))
        .or_else(|failure| ignore_if_optional(requirement, failure))
}

/// Runs recipes until all lines of one succeed; returns the last failure otherwise.
fn run_first_working(recipes: &[Vec<CommandLine>]) -> Result {
    let mut outcome = Ok(());
    for recipe in recipes {
        if let Err(failure) = &outcome {
            eprintln!("{failure}\nsetup: trying another way");
        }
        outcome = recipe.iter().try_for_each(|line| run_line(line));
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn verify(requirement: &Requirement, peers: &PeerFolders) -> Result {
    if requirement.is_installed(peers) {
        return Ok(());
    }
    Err(Failure::work(format!("{} was installed but is still not found", requirement.name))
        .with_hint("look at PATH"))
}

fn ignore_if_optional(requirement: &Requirement, failure: Failure) -> Result {
    if !requirement.optional {
        return Err(failure);
    }
    eprintln!("{failure}\nsetup: continuing without {}", requirement.name);
    Ok(())
}

fn run_line(line: &[String]) -> Result {
    match line {
        [] => Ok(()),
        [program, arguments @ ..] => process::run(
            Command::new(program).args(arguments).env("DEBIAN_FRONTEND", "noninteractive"),
        ),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AptAccess {
    Root,
    NotRoot,
    Absent,
}

impl AptAccess {
    fn probe() -> Self {
        if find_program("apt-get").is_none() {
            return Self::Absent;
        }
        match process::capture(Command::new("id").arg("-u")) {
            Ok(user) if user.trim() == "0" => Self::Root,
            _ => Self::NotRoot,
        }
    }
}

/// Fails with the command to run by hand if this process cannot install packages with apt.
fn check_apt_access(missing: &[&Requirement], access: AptAccess) -> Result {
    let by_apt = || missing.iter().filter(|needed| needed.uses_apt());
    let names: Vec<&str> = by_apt().map(|needed| needed.name.as_str()).collect();
    let packages: Vec<&str> =
        by_apt().flat_map(|needed| &needed.packages).map(String::as_str).collect();
    let failure = Failure::work(format!("missing on this machine: {}", names.join(", ")));
    match access {
        AptAccess::Root => Ok(()),
        AptAccess::NotRoot => Err(failure.with_hint(format!(
            "run `sudo apt-get update && sudo {} {}`",
            APT.join(" "),
            packages.join(" ")
        ))),
        AptAccess::Absent => Err(failure.with_hint(format!(
            "there is no apt-get here; install what Debian calls {}",
            packages.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests;
