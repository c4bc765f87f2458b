//! `agent metrics status`: the recorded data, its place, and the rule that decided.

use serde_json::{Value, json};
use usage_metrics::consent::{Decision, Mode};
use usage_metrics::package::Resource;
use usage_metrics::store::{self, Store, StoreFolder, Summary};
use uuid::Uuid;

use super::{decision, folder};
use crate::config::MetricsConfig;
use crate::diagnostic::{Diagnostic, Result};
use crate::metrics_recorder::{detect_resource, store_problem};
use crate::output::{ERROR, GOOD, WARNING};
use crate::session::Session;

struct Status {
    /// The stored data, if it is readable.
    summary: Option<Summary>,
    error: Option<store::Error>,
    folder: StoreFolder,
    config: MetricsConfig,
    decision: Decision,
}

pub(crate) fn run(session: &Session) -> Result {
    let status = Status::read(session)?;
    let resource = detect_resource(&session.environment);
    let mut json = status.json();
    json["resource"] = json!(resource);
    let mut text = status.text();
    if status.decision.mode == Mode::Local {
        let Resource { agent_version, architecture, install_method, os_family } = resource;
        text.push_str(&format!(
            "New counts are for version {agent_version} on {os_family} {architecture}, installed \
             by {install_method}.\n"
        ));
    }
    session.output.print(&json, text)
}

/// Whether recording is on and by which rule, and the error of the store.
pub(crate) fn health(session: &Session) -> Result<(String, Option<Diagnostic>)> {
    let Status { decision, folder, error, .. } = Status::read(session)?;
    let word = if decision.mode == Mode::Local { "on" } else { "off" };
    let line = format!("recording is {word}: {}", decision.rule);
    Ok((line, error.map(|error| store_problem(&folder, &error))))
}

impl Status {
    fn read(session: &Session) -> Result<Self> {
        let (config, decision) = decision(session)?;
        let folder = folder(session)?;
        let read = || {
            let Some(store) = Store::existing(&folder, Uuid::new_v4)? else { return Ok(None) };
            let summary = store.summary()?;
            Ok(Some((store, summary)))
        };
        let (summary, error) = match read() {
            Ok(None) => (None, None),
            // While recording is off, this command changes nothing.
            Ok(Some((_, summary))) if decision.mode == Mode::Off => (Some(summary), None),
            Ok(Some((mut store, summary))) => {
                (Some(summary), store.probe(session.clock.now()).err())
            }
            Err(error) => (None, Some(error)),
        };
        Ok(Self { summary, error, folder, config, decision })
    }

    fn json(&self) -> Value {
        let trouble = self.error.as_ref().map(|error| {
            let diagnostic = store_problem(&self.folder, error);
            json!({ "kind": error.kind(), "causes": diagnostic.causes })
        });
        let state = match (&self.summary, &self.error) {
            (None, None) => "none",
            (Some(_), None) => "good",
            (Some(_), Some(_)) => "unwritable",
            (None, Some(_)) => "broken",
        };
        json!({
            "mode": self.decision.mode.text(),
            "rule": self.decision.rule.to_string(),
            "folder": self.folder.root().to_string_lossy(),
            "retention_days": self.config.retention_days,
            "store": state,
            "trouble": trouble,
            "stores_set_aside": self.folder.stores_set_aside(),
            "holds": self.summary.as_ref().map(holds),
        })
    }

    fn text(&self) -> String {
        let Self { summary, error, folder, config, decision } = self;
        let mut lines = vec![match decision.mode {
            Mode::Local => format!("Recording is {GOOD}on{GOOD:#}: {}.", decision.rule),
            Mode::Off => format!("Recording is off: {}.", decision.rule),
        }];
        lines.push("Nothing leaves this machine: metrics are never uploaded.".to_owned());
        let root = folder.root().display();
        lines.extend(summary.iter().flat_map(|summary| summary_lines(summary, folder, config)));
        match (summary, error) {
            (None, None) => lines.push(format!("Nothing is stored in {root}.")),
            (Some(_), None) => {}
            (Some(_), Some(error)) => {
                let causes = store_problem(folder, error).causes.join(": ");
                lines.push(format!("{ERROR}Cannot write the store:{ERROR:#} {causes}"));
                lines.push("Counts are kept in memory meanwhile.".to_owned());
            }
            (None, Some(error)) => {
                let trouble = store_problem(folder, error);
                let causes = trouble.causes.join(": ");
                lines.push(format!("{ERROR}Cannot read the store in {root}:{ERROR:#} {causes}"));
                lines.extend(trouble.hints);
            }
        }
        for path in folder.stores_set_aside() {
            let path = path.display();
            lines.push(format!("{WARNING}A damaged store was set aside:{WARNING:#} {path}"));
        }
        lines.join("\n") + "\n"
    }
}

fn holds(summary: &Summary) -> Value {
    json!({
        "install_id": summary.install_id,
        "created_at": summary.created.to_string(),
        "first_day": summary.days.map(|(first, _)| first.to_string()),
        "last_day": summary.days.map(|(_, last)| last.to_string()),
        "counters": summary.counters,
        "counted": summary.counted,
        "unpackaged": summary.unpackaged,
        "packages": summary.packages,
        "packages_unwritten": summary.unwritten,
        "lost": summary.lost,
        "active_at": summary.active.map(|at| at.to_string()),
        "rows_set_aside": summary.set_aside_rows,
        "bytes": summary.bytes,
    })
}

fn summary_lines(summary: &Summary, folder: &StoreFolder, config: &MetricsConfig) -> Vec<String> {
    let days = match summary.days {
        Some((first, last)) if first == last => format!("on {first}"),
        Some((first, last)) => format!("from {first} to {last}"),
        None => "so far".to_owned(),
    };
    let rows = [
        ("folder", folder.root().display().to_string()),
        ("install id", format!("{} (local only)", summary.install_id)),
        ("counted", format!("{} in {} counters {days}", summary.counted, summary.counters)),
        ("not packaged", summary.unpackaged.to_string()),
        ("packages", format!("{} in {}", summary.packages, folder.outbox().display())),
        ("kept for", format!("{} days", config.retention_days)),
        ("size", format!("{} kB", summary.bytes.div_ceil(1000))),
    ];
    let mut lines: Vec<String> =
        rows.iter().map(|(name, value)| format!("  {name:<13} {value}")).collect();
    if summary.unwritten > 0 {
        lines.push(format!(
            "{WARNING}{} packages are not written to files yet{WARNING:#}; retry with `agent \
             metrics package`",
            summary.unwritten
        ));
    }
    if summary.lost > 0 {
        lines.push(format!("{WARNING}{} events could not be counted{WARNING:#}", summary.lost));
    }
    for row in &summary.set_aside_rows {
        lines.push(format!(
            "{WARNING}Set aside:{WARNING:#} {} {} {} = {}: {}",
            row.day, row.name, row.dimensions, row.value, row.reason
        ));
    }
    lines
}
