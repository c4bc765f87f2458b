//! What a bare machine lacks: finds it, says it, and installs it.
//!
//! The table of needs is in `setup/needs.rs`. Nothing is installed that is already there, and
//! nothing is installed without a line that says what is missing and what is run.

mod needs;
mod private;
mod weights;

use std::process::Command;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

pub(crate) use needs::Occasion;
use needs::{APT, Importance, Manager, NEEDS, Need, PYTHON_VALIDATOR, find_program};
pub(crate) use private::PrivateFolders;

/// A command line, word by word.
type Line = Vec<String>;

/// Installs what the occasion needs and the machine lacks.
pub(crate) fn run(workspace: &Workspace, occasion: Occasion) -> Result<(), Failure> {
    let private = PrivateFolders::of(workspace);
    let missing: Vec<&Need> = NEEDS
        .iter()
        .filter(|need| need.occasions.contains(&occasion) && !need.is_met(&private))
        .collect();
    if missing.is_empty() {
        println!("setup: nothing to install");
        return Ok(());
    }
    if missing.iter().any(|need| need.manager == Manager::Apt) {
        refuse_apt(&missing, AptAccess::probe())?;
    }
    let mut apt_lists = AptLists::Stale;
    for need in missing {
        install(need, &private, &mut apt_lists)?;
    }
    Ok(())
}

/// Whether the JSON Schema validator of Python can be compared with.
pub(crate) fn has_python_validator() -> bool {
    PYTHON_VALIDATOR.is_met()
}

fn install(need: &Need, private: &PrivateFolders, apt_lists: &mut AptLists) -> Result<(), Failure> {
    println!("setup: {} is missing ({})", need.name, need.reason);
    update_apt_lists(need, apt_lists)
        .and_then(|()| first_that_works(&need.recipes(private)))
        .and_then(|()| verify(need, private))
        .or_else(|failure| forgive(need, failure))
}

/// Runs one recipe after another until all lines of one succeed; the last failure counts.
fn first_that_works(recipes: &[Vec<Line>]) -> Result<(), Failure> {
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

fn verify(need: &Need, private: &PrivateFolders) -> Result<(), Failure> {
    if need.is_met(private) {
        return Ok(());
    }
    Err(Failure::work(format!("{} was installed but is still not found", need.name))
        .with_hint("look at PATH"))
}

/// Goes on without what is optional.
fn forgive(need: &Need, failure: Failure) -> Result<(), Failure> {
    match need.importance {
        Importance::Required => Err(failure),
        Importance::Optional => {
            eprintln!("{failure}\nsetup: going on without {}", need.name);
            Ok(())
        }
    }
}

/// Whether the package lists of apt were brought up to date in this run.
#[derive(Debug, PartialEq, Eq)]
enum AptLists {
    Stale,
    Fresh,
}

fn update_apt_lists(need: &Need, apt_lists: &mut AptLists) -> Result<(), Failure> {
    if need.manager == Manager::Apt && *apt_lists == AptLists::Stale {
        run_line(&["apt-get".to_owned(), "update".to_owned()])?;
        *apt_lists = AptLists::Fresh;
    }
    Ok(())
}

fn run_line(line: &[String]) -> Result<(), Failure> {
    match line {
        [] => Ok(()),
        [program, arguments @ ..] => process::run(
            Command::new(program).args(arguments).env("DEBIAN_FRONTEND", "noninteractive"),
        ),
    }
}

/// What this process may do with apt.
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

/// Says what to do by hand when apt has to install something and may not.
fn refuse_apt(missing: &[&Need], access: AptAccess) -> Result<(), Failure> {
    let needs: Vec<&Need> =
        missing.iter().copied().filter(|need| need.manager == Manager::Apt).collect();
    let names: Vec<&str> = needs.iter().map(|need| need.name).collect();
    let packages: Vec<&str> = needs.iter().flat_map(|need| need.packages.iter().copied()).collect();
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
mod tests {
    use super::*;

    fn need(name: &str) -> &'static Need {
        NEEDS.iter().find(|need| need.name == name).unwrap()
    }

    #[test]
    fn without_root_the_exact_command_is_told() {
        let missing = [need("chromium"), need("cargo-nextest"), need("chromedriver")];
        let text = refuse_apt(&missing, AptAccess::NotRoot).unwrap_err().to_string();
        assert_eq!(
            text,
            "error: missing on this machine: chromium, chromedriver\n\
             hint: run `sudo apt-get update && sudo apt-get install -y \
             --no-install-recommends chromium chromium-driver`"
        );
    }

    #[test]
    fn without_apt_the_packages_are_named_and_with_root_nothing_is_refused() {
        let missing = [need("g++")];
        let text = refuse_apt(&missing, AptAccess::Absent).unwrap_err().to_string();
        assert!(text.contains("no apt-get here") && text.ends_with("g++"), "{text}");
        assert!(refuse_apt(&missing, AptAccess::Root).is_ok());
    }

    #[test]
    fn without_node_the_packages_of_node_are_told() {
        let missing = [need("node and npm"), need("the MCP servers of the TypeScript SDK")];
        let text = refuse_apt(&missing, AptAccess::NotRoot).unwrap_err().to_string();
        assert!(text.starts_with("error: missing on this machine: node and npm\n"), "{text}");
        assert!(text.ends_with("nodejs npm`"), "{text}");
    }

    #[test]
    fn a_second_recipe_is_tried_when_the_first_fails() {
        let line = |word: &str| vec![vec![word.to_owned()]];
        assert!(first_that_works(&[line("false"), line("true")]).is_ok());
        assert!(first_that_works(&[line("true"), line("false")]).is_ok());
        let failure = first_that_works(&[line("false"), line("no-such-program")]).unwrap_err();
        assert!(failure.to_string().contains("no-such-program"), "{failure}");
    }

    #[test]
    fn an_optional_need_that_cannot_be_installed_is_gone_without() {
        let broken = || Failure::work("pip is not there");
        assert!(forgive(need("the JSON Schema validator of Python"), broken()).is_ok());
        assert!(forgive(need("cargo-nextest"), broken()).is_err());
    }
}
