//! Archiving and restoring skills of the home. Neither overwrites anything.

use std::fs;
use std::path::{Path, PathBuf};

use task_loop::nearest;

use super::Name;
use super::folder::Folder;
use super::folders::{SkillFolders, SkillScope};
use super::log::SkillLog;
use super::record::State;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};

/// Archives a skill; returns its new place.
pub(crate) fn put_away(places: &SkillFolders, name: &Name, log: &SkillLog) -> Result<PathBuf> {
    let from = places.home().join(name.as_str());
    let archive = places.archive();
    let Some(skill) = places.at_home(name) else {
        return Err(missing(name, places));
    };
    if fs::symlink_metadata(&from).is_ok_and(|file| file.is_symlink()) {
        return Err(Diagnostic::failed(format!("{} is a link", from.display()))
            .hint("remove the link; its target is not changed"));
    }
    let mut page = log.open()?;
    page.seen(&skill);
    let to = archive.join(name.as_str());
    refuse_existing(&to, &format!("archived skill `{name}` exists already"))?;
    let moved = fs::create_dir_all(&archive).and_then(|()| fs::rename(&from, &to));
    moved.or_failed(cannot_move(&from, &to))?;
    page.moved(&skill, State::Archived);
    page.close().inspect_err(|_| drop(fs::rename(&to, &from)))?;
    Ok(to)
}

/// Restores a skill; returns its new place.
pub(crate) fn bring_back(places: &SkillFolders, name: &Name, log: &SkillLog) -> Result<PathBuf> {
    let from = places.archive().join(name.as_str());
    let to = places.home().join(name.as_str());
    let Ok(folder) = Folder::open(&from, None) else {
        let known = put_away_before(places);
        let diagnostic = Diagnostic::usage(format!("no archived skill named `{name}`"));
        let near = nearest(name.as_str(), known.iter().map(String::as_str));
        return Err(diagnostic.did_you_mean(near, "list them with `agent skills list`"));
    };
    let mut page = log.open()?;
    refuse_existing(&to, &format!("skill `{name}` exists already"))?;
    // The folder is read in its old place; the move does not change it.
    page.moved(&places.located(name.clone(), SkillScope::Home, folder), State::Active);
    fs::rename(&from, &to).or_failed(cannot_move(&from, &to))?;
    page.close().inspect_err(|_| drop(fs::rename(&to, &from)))?;
    Ok(to)
}

pub(crate) fn put_away_before(places: &SkillFolders) -> Vec<String> {
    let entries = fs::read_dir(places.archive()).into_iter().flatten();
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
    let names = names.filter_map(|name| Name::parse(&name.to_string_lossy()));
    let mut names: Vec<String> = names.map(|name| name.to_string()).collect();
    names.sort_unstable();
    names.truncate(super::catalogue::MAX_SKILLS);
    names
}

fn missing(name: &Name, places: &SkillFolders) -> Diagnostic {
    if let Some(project) = places.project().filter(|it| it.join(name.as_str()).is_dir()) {
        return Diagnostic::usage(format!("skill `{name}` belongs to the project")).hint(format!(
            "it is in {}; only skills in the home folder can be archived",
            project.display()
        ));
    }
    let diagnostic = Diagnostic::usage(format!("no skill named `{name}`"));
    let catalogue = places.catalogue();
    diagnostic
        .did_you_mean(catalogue.nearest(name.as_str()), "list skills with `agent skills list`")
}

fn refuse_existing(path: &Path, what: &str) -> Result {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(Diagnostic::failed(what).hint(format!("rename or remove {} first", path.display())))
}

fn cannot_move(from: &Path, to: &Path) -> String {
    format!("cannot move {} to {}", from.display(), to.display())
}
