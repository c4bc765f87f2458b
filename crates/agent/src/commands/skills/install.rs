//! `agent skills install`: copies a folder to the folder of skills.

use std::path::{Path, PathBuf};

use serde_json::json;
use task_loop::untrusted::printable;

use super::with_log;
use crate::diagnostic::Result;
use crate::download::OnConflict;
use crate::output::GOOD;
use crate::session::Session;
use crate::skills::Name;
use crate::skills::folder::Folder;
use crate::skills::folders::{SkillFolders, SkillScope};
use crate::skills::install::InstallPlan;
use crate::table::{Table, counted, grouped};

/// Install a skill from a folder with a SKILL.md
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The folder may contain at most 200 files and 10 MiB, and no symbolic links.

Examples:
  agent skills install ./review
  agent skills install ./review --name careful-review
  agent skills install ./review --project")]
pub(crate) struct Args {
    /// Folder with the SKILL.md
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Skill name [default: the `name` in SKILL.md]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Install into `.agent/skills` of this project
    #[arg(long)]
    project: bool,
    /// Replace an existing skill of that name
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let name = args.name.as_deref().map(Name::typed).transpose()?;
    let places = SkillFolders::find(session)?;
    let (shelf, path) = if args.project {
        (SkillScope::Project, places.project_to_be()?)
    } else {
        (SkillScope::Home, places.home().to_owned())
    };
    let plan = InstallPlan::of(&args.folder, name)?;
    let existing = if args.force { OnConflict::Replace } else { OnConflict::Keep };
    let to = path.join(plan.name.as_str());
    let is_update = with_log(&places, session, |log| {
        let mut page = log.open()?;
        let is_update = plan.copy_to(&path, existing)?;
        let recorded = Folder::open(&to, None).map(|folder| {
            let skill = places.located(plan.name.clone(), shelf, folder);
            page.installed(&skill, &plan.source.display().to_string(), is_update);
            page.close()
        });
        if let Ok(Err(diagnostic)) = recorded {
            // The skill works anyway.
            let line = printable(&diagnostic.line());
            session.output.warn(format!("cannot record the installation: {line}"));
        }
        Ok(is_update)
    })?;
    report(&plan, &to, is_update, session)
}

fn report(plan: &InstallPlan, to: &Path, is_update: bool, session: &Session) -> Result {
    session.output.warn(format!(
        "models follow the instructions of a skill with your tools; review them: `agent skills \
         show {}`",
        plan.name
    ));
    if session.output.is_json() {
        return session.output.json(&json!({
            "name": plan.name.as_str(),
            "description": plan.description,
            "installed_from": plan.source,
            "path": to.to_string_lossy(),
            "replaced": is_update,
            "files": plan.files,
        }));
    }
    let mut table = Table::new(["file", "bytes", ""]).align_right(&["bytes"]);
    for file in &plan.files {
        let kind = if file.is_program { "program" } else { "" };
        table.row([file.path.display().to_string(), grouped(file.bytes), kind.to_owned()]);
    }
    let done = if is_update { "Replaced" } else { "Installed" };
    let (name, about) = (&plan.name, printable(&plan.description));
    let (count, bytes) = (counted(plan.files.len(), "file"), grouped(plan.bytes()));
    session.output.text(format!("{GOOD}{done}{GOOD:#} {name}: {about}\n\n{}", table.text()))?;
    session.output.note(format!("{count}, {bytes} bytes, in {}", to.display()));
    if plan.has_left_out {
        session.output.note("`.git` was not copied.");
    }
    Ok(())
}
