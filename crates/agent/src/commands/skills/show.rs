//! `agent skills show`: one skill, as a model gets it.

use std::sync::Arc;

use mcp_client::redact::Redactor;
use serde_json::json;
use task_loop::Sanitizer;
use task_loop::untrusted::printable;
use usage_metrics::clock::Timestamp;

use super::list::{about, records};
use super::named;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::skills::folders::SkillFolders;
use crate::skills::listing::one_line;

/// Show the location, usage and text of a skill
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent skills show review\n  agent skills show review --json")]
pub(crate) struct Args {
    /// Skill name
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
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
        ("from", skill.located.shelf.word().to_owned()),
        ("folder", skill.located.folder.path().display().to_string()),
    ];
    if document.title != skill.located.name {
        lines.push(("declared as", document.title.to_string()));
    }
    if let Some(installed) = &record.installed {
        let from = printable(&installed.from);
        lines.push(("installed", format!("{} from {from}", day(installed.at_ms))));
    }
    if let Some(ms) = record.edited_ms {
        lines.push(("edited", day(ms).to_string()));
    }
    lines.push((
        "used",
        match (record.first_used_ms, record.last_used_ms) {
            (Some(first), Some(last)) => {
                format!("{} times, first {}, last {}", record.uses, day(first), day(last))
            }
            _ => "never".to_owned(),
        },
    ));
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
