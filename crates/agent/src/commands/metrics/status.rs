//! `agent metrics status`: what is recorded, where, and which rule decided.

use serde_json::{Value, json};
use usage_metrics::consent::{Decision, Mode};
use usage_metrics::package::Resource;
use usage_metrics::store::{self, ErrorKind, Store, StoreFolder, Summary};
use uuid::Uuid;

use super::{decision, folder};
use crate::config::MetricsConfig;
use crate::diagnostic::Diagnostic;
use crate::metrics_recorder::{detect_resource, store_trouble};
use crate::output::{ERROR, GOOD, WARNING};
use crate::session::Session;

enum StoreState {
    Nothing,
    Good(Box<Summary>),
    /// It can be read but not written, and why.
    Unwritable(Box<Summary>, store::Error),
    Broken(store::Error),
}

pub(crate) fn run(session: &Session) -> Result<(), Diagnostic> {
    let (config, decision) = decision(session)?;
    let folder = folder(session)?;
    let found = look(&folder, decision, session);
    let resource = detect_resource(&session.environment);
    if session.output.is_json() {
        let mut status = as_json(&found, &folder, &config, decision);
        status["resource"] = json!(resource);
        return session.output.json(&status);
    }
    let mut text = as_text(&found, &folder, &config, decision);
    if decision.mode == Mode::Local {
        let Resource { agent_version, architecture, install_method, os_family } = resource;
        text.push_str(&format!(
            "New counts are for version {agent_version} on {os_family} {architecture}, installed \
             by {install_method}.\n"
        ));
    }
    session.output.text(text)
}

/// Whether something is recorded and by which rule, and what is wrong with the store.
pub(crate) fn health(session: &Session) -> Result<(String, Option<Diagnostic>), Diagnostic> {
    let (_, decision) = decision(session)?;
    let folder = folder(session)?;
    let word = if decision.mode == Mode::Local { "on" } else { "off" };
    let line = format!("recording is {word}: {}", decision.rule);
    let trouble = match look(&folder, decision, session) {
        StoreState::Nothing | StoreState::Good(_) => None,
        StoreState::Unwritable(_, error) | StoreState::Broken(error) => {
            Some(store_trouble(&folder, &error))
        }
    };
    Ok((line, trouble))
}

fn look(folder: &StoreFolder, decision: Decision, session: &Session) -> StoreState {
    let mut store = match Store::existing(folder, Uuid::new_v4) {
        Ok(Some(store)) => store,
        Ok(None) => return StoreState::Nothing,
        Err(error) => return StoreState::Broken(error),
    };
    let summary = match store.summary() {
        Ok(summary) => Box::new(summary),
        Err(error) => return StoreState::Broken(error),
    };
    // While recording is off, looking changes nothing.
    if decision.mode == Mode::Off {
        return StoreState::Good(summary);
    }
    match store.probe(session.clock.now()) {
        Ok(()) => StoreState::Good(summary),
        Err(error) => StoreState::Unwritable(summary, error),
    }
}

fn as_json(
    found: &StoreState,
    folder: &StoreFolder,
    config: &MetricsConfig,
    decision: Decision,
) -> Value {
    let trouble = |error: &store::Error| {
        let diagnostic = store_trouble(folder, error);
        json!({ "kind": kind_text(error.kind()), "causes": diagnostic.causes })
    };
    let (state, summary, trouble) = match found {
        StoreState::Nothing => ("none", None, None),
        StoreState::Good(summary) => ("good", Some(summary), None),
        StoreState::Unwritable(summary, error) => {
            ("unwritable", Some(summary), Some(trouble(error)))
        }
        StoreState::Broken(error) => ("broken", None, Some(trouble(error))),
    };
    json!({
        "mode": decision.mode.text(),
        "rule": decision.rule.to_string(),
        "folder": folder.root(),
        "retention_days": config.retention_days,
        "store": state,
        "trouble": trouble,
        "stores_set_aside": folder.stores_set_aside(),
        "holds": summary.map(|summary| holds(summary)),
    })
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

const fn kind_text(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Busy => "busy",
        ErrorKind::Full => "full",
        ErrorKind::ReadOnly => "read-only",
        ErrorKind::Corrupt => "damaged",
        ErrorKind::Newer => "newer",
        ErrorKind::Gone => "gone",
        ErrorKind::Stopped => "stopped",
        ErrorKind::Other => "other",
    }
}

fn as_text(
    found: &StoreState,
    folder: &StoreFolder,
    config: &MetricsConfig,
    decision: Decision,
) -> String {
    let mut lines = vec![match decision.mode {
        Mode::Local => format!("Recording is {GOOD}on{GOOD:#}: {}.", decision.rule),
        Mode::Off => format!("Recording is off: {}.", decision.rule),
    }];
    lines.push("Nothing leaves this machine: metrics are never uploaded.".to_owned());
    let root = folder.root().display();
    match found {
        StoreState::Nothing => lines.push(format!("Nothing is stored in {root}.")),
        StoreState::Good(summary) => lines.extend(summary_lines(summary, folder, config)),
        StoreState::Unwritable(summary, error) => {
            lines.extend(summary_lines(summary, folder, config));
            lines
                .push(format!("{ERROR}Cannot write the store:{ERROR:#} {}", causes(folder, error)));
            lines.push("Counts are kept in memory meanwhile.".to_owned());
        }
        StoreState::Broken(error) => {
            lines.push(format!(
                "{ERROR}Cannot read the store in {root}:{ERROR:#} {}",
                causes(folder, error)
            ));
            lines.extend(store_trouble(folder, error).hints);
        }
    }
    for path in folder.stores_set_aside() {
        lines
            .push(format!("{WARNING}A damaged store was set aside:{WARNING:#} {}", path.display()));
    }
    lines.join("\n") + "\n"
}

fn causes(folder: &StoreFolder, error: &store::Error) -> String {
    store_trouble(folder, error).causes.join(": ")
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
