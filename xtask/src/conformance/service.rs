//! Tests the MCP endpoint of the member service, a server with only tools.
//!
//! The example program `conformance_service` of `gateway` runs the service and adds a key to the
//! requests of the suite. [`scenarios`](super::scenarios) lists the scenarios that apply and those
//! that do not; an unlisted one is an error.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::report::Row;
use super::scenarios::{
    EXTRA_SERVER_SCENARIOS, NOT_APPLICABLE, REVISIONS, SERVER_SCENARIOS, SKIPPED_CHECKS,
};
use super::{Subject, Suite};
use crate::failure::{Failure, OrFail, Result};
use crate::process::Running;

/// Prefix of server scenarios in the results of the suite.
const PREFIX: &str = "server-";

fn start(program: &Path) -> Result<(Running, String)> {
    let failed = format!("cannot run {}", program.display());
    let started = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut process = Running(started.or_fail(&failed)?);
    let mut url = String::new();
    if let Some(stdout) = process.0.stdout.take() {
        BufReader::new(stdout).read_line(&mut url).or_fail(&failed)?;
    }
    match url.trim() {
        "" => Err(Failure::work(format!("{} said no address", program.display()))),
        url => Ok((process, url.to_owned())),
    }
}

pub(super) fn run(suite: &Suite) -> Result<Vec<Row>> {
    let (_service, url) = start(&suite.service)?;
    let subject = Subject::Server { url: &url };
    let mut rows = Vec::new();
    for revision in REVISIONS {
        let arguments = ["--requirements", revision];
        let folder = format!("server-{revision}");
        let (found, _) = suite.run_once(subject, &folder, &arguments, revision)?;
        let (applicable, left_out) = classify(found, revision)?;
        eprintln!("conformance: at {revision} {} do not apply:", left_out.values().sum::<usize>());
        for (reason, count) in left_out {
            eprintln!("conformance: {count:>4}  {reason}");
        }
        rows.extend(applicable);
    }
    for (name, version) in EXTRA_SERVER_SCENARIOS {
        let arguments = ["--scenario", name, "--spec-version", version];
        let folder = format!("server-{name}-{version}");
        let (found, _) = suite.run_once(subject, &folder, &arguments, version)?;
        if found.is_empty() {
            return Err(Failure::work(format!("the suite has no `{name}` for {version}")));
        }
        rows.extend(found.into_iter().map(renamed));
    }
    Ok(rows)
}

/// The rows that apply, and the number of the others by reason.
fn classify(rows: Vec<Row>, revision: &str) -> Result<(Vec<Row>, BTreeMap<&'static str, usize>)> {
    let mut applicable = Vec::new();
    let mut left_out = BTreeMap::new();
    for mut row in rows.into_iter().map(renamed) {
        let name = name(&row).to_owned();
        if applies(&name, revision) {
            for reason in remove_skipped_checks(&name, &mut row) {
                *left_out.entry(reason).or_default() += 1;
            }
            applicable.push(row);
        } else if let Some((reason, _)) =
            NOT_APPLICABLE.iter().find(|(_, names)| names.contains(&name.as_str()))
        {
            *left_out.entry(*reason).or_default() += 1;
        } else {
            return Err(Failure::work(format!(
                "the suite has a scenario `{name}` at {revision} that nobody has considered"
            ))
            .with_hint("say in xtask/src/conformance/scenarios.rs whether it applies"));
        }
    }
    let has_run = |expected: &str| applicable.iter().any(|row| name(row) == expected);
    match SERVER_SCENARIOS.iter().find(|(name, of)| of.contains(&revision) && !has_run(name)) {
        None => Ok((applicable, left_out)),
        Some((name, _)) => {
            Err(Failure::work(format!("the suite did not run `{name}` at {revision}")))
        }
    }
}

/// Gives the row a name that no client scenario has.
fn renamed(mut row: Row) -> Row {
    let name = row.scenario.strip_prefix(PREFIX).unwrap_or(&row.scenario);
    row.scenario = format!("server/{name}");
    row
}

fn name(row: &Row) -> &str {
    row.scenario.strip_prefix("server/").unwrap_or(&row.scenario)
}

fn applies(scenario: &str, revision: &str) -> bool {
    SERVER_SCENARIOS.iter().any(|(name, of)| *name == scenario && of.contains(&revision))
}

/// Removes the skipped checks and returns their reasons. A skipped check that passes is an error.
fn remove_skipped_checks(scenario: &str, row: &mut Row) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    for (_, check, reason) in SKIPPED_CHECKS.iter().filter(|(of, ..)| *of == scenario) {
        let before = row.failed.len();
        row.failed.retain(|failed| failed.split_once(": ").is_none_or(|(id, _)| id != *check));
        if row.failed.len() < before {
            reasons.push(*reason);
        } else {
            row.failed.push(format!("{check}: passes now, but is listed as skipped"));
        }
    }
    reasons
}

#[cfg(test)]
mod tests;
