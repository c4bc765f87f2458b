//! `agent skills list`: every skill, where it is from, and how often it was used.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use task_loop::untrusted::printable;
use usage_metrics::clock::Timestamp;
use usage_metrics::recorder::Recorder;

use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::skills::Problem;
use crate::skills::archive::put_away_before;
use crate::skills::catalogue::{Catalogue, Skill};
use crate::skills::folders::SkillFolders;
use crate::skills::listing::one_line;
use crate::skills::log::SkillLog;
use crate::skills::record::SkillRecord;
use crate::table::{Alignment, Table, grouped};

/// How wide a row is, if the names leave room.
const WIDTH: usize = 80;
/// What the columns between the name and the description take, and what separates them.
const BETWEEN: usize = 7 + 4 + 10 + 4 * 2;
/// Columns of a description, however wide the names are.
const LEAST_DESCRIPTION: usize = 20;

/// List skills and their usage
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Unusable skills are listed with the reason.

Examples:
  agent skills list
  agent skills list --json")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    let places = SkillFolders::find(session)?;
    let catalogue = places.catalogue();
    let records = records(&places, session);
    let archived = put_away_before(&places);
    if session.output.is_json() {
        let skill = |skill: &Skill| about(skill, records.get(&skill.located.key()));
        let skills: Vec<Value> = catalogue.skills.iter().map(skill).collect();
        let problems: Vec<Value> = catalogue.problems.iter().map(Problem::json).collect();
        return session.output.json(&json!({
            "skills": skills, "problems": problems, "archived": archived,
        }));
    }
    if catalogue.skills.is_empty() {
        session.output.text(format!("No skills in {}.\n", places.home().display()))?;
    } else {
        session.output.text(table(&catalogue, &records))?;
    }
    catalogue.tell(session);
    if !archived.is_empty() {
        let names = archived.join(", ");
        session.output.note(format!("Archived: {names}. Restore one with `agent skills restore`."));
    }
    if catalogue.skills.is_empty() {
        session.output.note("Install one with `agent skills install FOLDER`.");
    }
    Ok(())
}

/// The usage records of skills; a file that cannot be read hides no skill.
pub(super) fn records(places: &SkillFolders, session: &Session) -> BTreeMap<String, SkillRecord> {
    let records = SkillLog::new(places, Recorder::off(), session.clock.clone()).records();
    records.unwrap_or_else(|diagnostic| {
        session
            .output
            .warn(format!("cannot read the usage record: {}", printable(&diagnostic.line())));
        BTreeMap::new()
    })
}

fn table(catalogue: &Catalogue, records: &BTreeMap<String, SkillRecord>) -> String {
    let name = |skill: &Skill| skill.name().len();
    let widest = catalogue.skills.iter().map(name).max().unwrap_or_default().max("name".len());
    let room = WIDTH.saturating_sub(widest + BETWEEN).max(LEAST_DESCRIPTION);
    let mut table = Table::new([
        ("name", Alignment::Left),
        ("from", Alignment::Left),
        ("uses", Alignment::Right),
        ("last used", Alignment::Left),
        ("description", Alignment::Left),
    ]);
    for skill in &catalogue.skills {
        let record = records.get(&skill.located.key());
        let last = record.and_then(|record| record.last_used_ms);
        table.row([
            skill.name().to_owned(),
            skill.located.shelf.word().to_owned(),
            grouped(record.map_or(0, |record| record.uses)),
            last.map_or("never".to_owned(), |ms| Timestamp::from_ms(ms).day().to_string()),
            one_line(&skill.description, room),
        ]);
    }
    table.text()
}

pub(super) fn about(skill: &Skill, record: Option<&SkillRecord>) -> Value {
    let record = record.cloned().unwrap_or_default();
    let moment = |ms: Option<i64>| ms.map(|ms| Timestamp::from_ms(ms).to_string());
    let installed = record.installed.as_ref();
    json!({
        "name": skill.name(),
        "description": skill.description,
        "from": skill.located.shelf.word(),
        "path": skill.located.folder.path(),
        "hides_home": skill.is_hiding(),
        "state": record.state.word(),
        "uses": record.uses,
        "first_used": moment(record.first_used_ms),
        "last_used": moment(record.last_used_ms),
        "edited": moment(record.edited_ms),
        "installed_from": installed.map(|installed| &installed.from),
        "installed": moment(installed.map(|installed| installed.at_ms)),
    })
}
