//! `agent skills`: instructions that models load on demand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use mcp_client::redact::Redactor;
use serde_json::{Value, json};
use task_loop::Sanitizer;
use task_loop::untrusted::printable;
use usage_metrics::clock::Timestamp;
use usage_metrics::recorder::Recorder;

use crate::diagnostic::{Diagnostic, Result};
use crate::download::OnConflict;
use crate::metrics_recorder;
use crate::output::GOOD;
use crate::session::Session;
use crate::skills::Name;
use crate::skills::archive::{bring_back, put_away, put_away_before};
use crate::skills::catalogue::{Catalogue, Skill, unknown};
use crate::skills::folder::Folder;
use crate::skills::folders::{SkillFolders, SkillScope};
use crate::skills::install::InstallPlan;
use crate::skills::log::SkillLog;
use crate::skills::record::{Installed, SkillRecord};
use crate::skills::tool::one_line;
use crate::table::{Table, counted, grouped};

/// Width of a row, if the names leave room.
const WIDTH: usize = 80;
/// Width of the columns between the name and the description, with separators.
const BETWEEN: usize = 7 + 4 + 10 + 4 * 2;
/// Minimum width of a description, for any width of the names.
const LEAST_DESCRIPTION: usize = 20;

/// Manage skills: instructions that models load on demand
#[derive(Debug, Subcommand)]
#[command(
    arg_required_else_help = true,
    after_help = "\
A skill is a folder with a SKILL.md: front matter with `name` and `description`, then the \
instructions. Skills live in the profile's home and in `.agent/skills` of a project, which takes \
precedence.

Examples:
  agent skills list
  agent skills install ./review
  agent skills show review"
)]
pub(crate) enum Command {
    /// List skills and their usage
    #[command(after_help = "\
Unusable skills are listed with the reason.

Examples:
  agent skills list
  agent skills list --json")]
    List,
    /// Show the location, usage and text of a skill
    #[command(
        after_help = "Examples:\n  agent skills show review\n  agent skills show review --json"
    )]
    Show(SkillArgs),
    Install(InstallArgs),
    /// Archive a skill, which hides it from models
    #[command(after_help = "\
Moves the folder to `.archive`; undo it with `agent skills restore`.

Examples:
  agent skills archive review")]
    Archive(SkillArgs),
    /// Restore an archived skill
    #[command(after_help = "Examples:\n  agent skills restore review")]
    Restore(SkillArgs),
    Path(SkillPath),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SkillArgs {
    /// Skill name
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(command: Command, session: &Session) -> Result {
    match command {
        Command::List => list(session),
        Command::Show(args) => show(&args, session),
        Command::Install(args) => install(&args, session),
        Command::Archive(args) => moved(&args.name, "archived", "Archived", session, put_away),
        Command::Restore(args) => moved(&args.name, "restored", "Restored", session, bring_back),
        Command::Path(args) => path(&args, session),
    }
}

fn with_log<T>(
    places: &SkillFolders,
    session: &Session,
    work: impl FnOnce(&SkillLog) -> Result<T>,
) -> Result<T> {
    let recorder = metrics_recorder::recorder(session)?;
    let done = work(&SkillLog::new(places, recorder.clone(), session.clock.clone()));
    metrics_recorder::close(&recorder);
    done
}

/// Moves a skill; `key` and `done` name the move in JSON and in text.
fn moved(
    name: &str,
    key: &str,
    done: &str,
    session: &Session,
    work: impl FnOnce(&SkillFolders, &Name, &SkillLog) -> Result<PathBuf>,
) -> Result {
    let name = Name::typed(name)?;
    let places = SkillFolders::find(session)?;
    let to = with_log(&places, session, |log| work(&places, &name, log))?;
    if session.output.is_json() {
        return session.output.json(&json!({key: name.as_str(), "path": to.to_string_lossy()}));
    }
    session.output.text(format!("{GOOD}{done}{GOOD:#} {name}.\n"))?;
    session.output.note(format!("It is in {}.", to.display()));
    Ok(())
}

fn named(name: &str, places: &SkillFolders) -> Result<Skill> {
    let name = Name::typed(name)?;
    match places.open(&name) {
        Some(Ok(skill)) => Ok(skill),
        Some(Err(problem)) => Err(Diagnostic::failed(problem.line())),
        None => Err(Diagnostic::usage(printable(&unknown(name.as_str(), &places.catalogue())))
            .hint("list skills with `agent skills list`")),
    }
}

/// Print the folder of all skills or of one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent skills path\n  agent skills path review")]
pub(crate) struct SkillPath {
    /// Skill name
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

fn path(args: &SkillPath, session: &Session) -> Result {
    let places = SkillFolders::find(session)?;
    if let Some(name) = &args.name {
        let skill = named(name, &places)?;
        let path = skill.located.folder.path();
        let value = json!({"name": skill.name(), "path": path.to_string_lossy()});
        return session.output.print(&value, format!("{}\n", path.display()));
    }
    if session.output.is_json() {
        let (home, project) = (places.home(), places.project());
        return session.output.json(&json!({"home": home, "project": project}));
    }
    session.output.text(format!("{}\n", places.home().display()))?;
    if let Some(project) = places.project() {
        session.output.note(format!("Skills of the project are in {}.", project.display()));
    }
    Ok(())
}

fn show(args: &SkillArgs, session: &Session) -> Result {
    let places = SkillFolders::find(session)?;
    let skill = named(&args.name, &places)?;
    let read = skill.located.document();
    let document = read.map_err(|problem| Diagnostic::failed(problem.line()))?;
    let files = skill.located.folder.files();
    let mut records = records(&places, session);
    let record = records.remove(&skill.located.key());
    if session.output.is_json() {
        let mut value = about(&skill, record.as_ref());
        value["title"] = json!(document.title.as_str());
        value["files"] = json!(files);
        value["body"] = json!(document.body);
        return session.output.json(&value);
    }
    let record = record.unwrap_or_default();
    let day = |ms: i64| Timestamp::from_ms(ms).day();
    let mut lines = vec![
        ("name", skill.name().to_owned()),
        ("description", one_line(&skill.description, usize::MAX)),
        ("from", skill.located.shelf.as_str().to_owned()),
        ("folder", skill.located.folder.path().display().to_string()),
    ];
    if document.title != skill.located.name {
        lines.push(("declared as", document.title.to_string()));
    }
    lines.extend(record.installed.map(|Installed { from, at_ms }| {
        ("installed", format!("{} from {}", day(at_ms), printable(&from)))
    }));
    lines.extend(record.edited_ms.map(|ms| ("edited", day(ms).to_string())));
    let used = record.first_used_ms.zip(record.last_used_ms).map(|(first, last)| {
        format!("{} times, first {}, last {}", record.uses, day(first), day(last))
    });
    lines.push(("used", used.unwrap_or_else(|| "never".to_owned())));
    if !files.is_empty() {
        let files: Vec<String> = files.iter().map(|file| printable(file)).collect();
        lines.push(("files", files.join("\n             ")));
    }
    let line = |(name, value): (&str, String)| format!("{name:<12} {value}\n");
    let mut text: String = lines.into_iter().map(line).collect();
    let shown = Sanitizer::new(Arc::new(Redactor::default()));
    text.push_str(&format!("\n{}\n", shown.whole(&document.body)));
    session.output.bytes(text.as_bytes())
}

fn list(session: &Session) -> Result {
    let places = SkillFolders::find(session)?;
    let catalogue = places.catalogue();
    let records = records(&places, session);
    let archived = put_away_before(&places);
    if session.output.is_json() {
        let skill = |skill: &Skill| about(skill, records.get(&skill.located.key()));
        let skills: Vec<Value> = catalogue.skills.iter().map(skill).collect();
        return session.output.json(&json!({
            "skills": skills, "problems": catalogue.problems, "archived": archived,
        }));
    }
    if catalogue.skills.is_empty() {
        session.output.text(format!("No skills in {}.\n", places.home().display()))?;
    } else {
        session.output.text(table(&catalogue, &records))?;
    }
    catalogue.report(session);
    if !archived.is_empty() {
        let names = archived.join(", ");
        session.output.note(format!("Archived: {names}. Restore one with `agent skills restore`."));
    }
    if catalogue.skills.is_empty() {
        session.output.note("Install one with `agent skills install FOLDER`.");
    }
    Ok(())
}

/// The usage records of skills; an unreadable file does not hide skills.
fn records(places: &SkillFolders, session: &Session) -> BTreeMap<String, SkillRecord> {
    let records = SkillLog::new(places, Recorder::off(), session.clock.clone()).records();
    records.unwrap_or_else(|diagnostic| {
        let line = printable(&diagnostic.line());
        session.output.warn(format!("cannot read the usage record: {line}"));
        BTreeMap::new()
    })
}

fn table(catalogue: &Catalogue, records: &BTreeMap<String, SkillRecord>) -> String {
    let name = |skill: &Skill| skill.name().len();
    let widest = catalogue.skills.iter().map(name).max().unwrap_or_default().max("name".len());
    let room = WIDTH.saturating_sub(widest + BETWEEN).max(LEAST_DESCRIPTION);
    let mut table =
        Table::new(["name", "from", "uses", "last used", "description"]).align_right(&["uses"]);
    for skill in &catalogue.skills {
        let record = records.get(&skill.located.key());
        let last = record.and_then(|record| record.last_used_ms);
        table.row([
            skill.name().to_owned(),
            skill.located.shelf.as_str().to_owned(),
            grouped(record.map_or(0, |record| record.uses)),
            last.map_or("never".to_owned(), |ms| Timestamp::from_ms(ms).day().to_string()),
            one_line(&skill.description, room),
        ]);
    }
    table.text()
}

fn about(skill: &Skill, record: Option<&SkillRecord>) -> Value {
    let record = record.cloned().unwrap_or_default();
    let moment = |ms: Option<i64>| ms.map(|ms| Timestamp::from_ms(ms).to_string());
    let installed = record.installed.as_ref();
    json!({
        "name": skill.name(),
        "description": skill.description,
        "from": skill.located.shelf.as_str(),
        "path": skill.located.folder.path().to_string_lossy(),
        "hides_home": skill.is_hiding(),
        "state": record.state.as_str(),
        "uses": record.uses,
        "first_used": moment(record.first_used_ms),
        "last_used": moment(record.last_used_ms),
        "edited": moment(record.edited_ms),
        "installed_from": installed.map(|installed| &installed.from),
        "installed": moment(installed.map(|installed| installed.at_ms)),
    })
}

/// Install a skill from a folder with a SKILL.md
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The folder may contain at most 200 files and 10 MiB, and no symbolic links.

Examples:
  agent skills install ./review
  agent skills install ./review --name careful-review
  agent skills install ./review --project")]
pub(crate) struct InstallArgs {
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

fn install(args: &InstallArgs, session: &Session) -> Result {
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
    report_installed(&plan, &to, is_update, session)
}

fn report_installed(plan: &InstallPlan, to: &Path, is_update: bool, session: &Session) -> Result {
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
    let count = counted(plan.files.len(), "file");
    let bytes = grouped(plan.files.iter().map(|file| file.bytes).sum::<u64>());
    session.output.text(format!("{GOOD}{done}{GOOD:#} {name}: {about}\n\n{}", table.text()))?;
    session.output.note(format!("{count}, {bytes} bytes, in {}", to.display()));
    if plan.has_left_out {
        session.output.note("`.git` was not copied.");
    }
    Ok(())
}
