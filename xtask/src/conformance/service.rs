//! The MCP endpoint of the member service, judged as a server of tools.
//!
//! The example program `judged` of `gateway` runs the service and adds a key to what the suite
//! sends. The suite knows servers that have everything; what cannot be judged here is named in
//! [`scenarios`](super::scenarios), and nothing may be in neither of its tables.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::report::Row;
use super::scenarios::{NOT_APPLICABLE, NOT_CHECKED, OF_TOOLS, OTHERS_OF_TOOLS, REVISIONS};
use super::{Side, Suite};
use crate::failure::Failure;

/// What the suite puts before the names of scenarios of servers.
const PREFIX: &str = "server-";

/// The service, until this is dropped.
struct Served {
    process: Child,
    url: String,
}

impl Served {
    fn start(program: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::work(format!("cannot run {}: {error}", program.display()));
        let mut process = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut url = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut url).map_err(failed)?;
        }
        let served = Self { process, url: url.trim().to_owned() };
        if served.url.is_empty() {
            return Err(Failure::work(format!("{} said no address", program.display())));
        }
        Ok(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Judges the service in every revision.
pub(super) fn judge(suite: &Suite) -> Result<Vec<Row>, Failure> {
    let served = Served::start(&suite.service)?;
    let side = Side::Server { url: &served.url };
    let mut rows = Vec::new();
    for revision in REVISIONS {
        let arguments = ["--requirements", revision];
        let ran = suite.run_once(side, &format!("server-{revision}"), &arguments, revision)?;
        let (judged, left_out) = sort(ran.rows, revision)?;
        eprintln!("conformance: at {revision} {} do not apply:", left_out.values().sum::<usize>());
        for (reason, count) in left_out {
            eprintln!("conformance: {count:>4}  {reason}");
        }
        rows.extend(judged);
    }
    for (name, version) in OTHERS_OF_TOOLS {
        let arguments = ["--scenario", name, "--spec-version", version];
        let ran = suite.run_once(side, &format!("server-{name}-{version}"), &arguments, version)?;
        if ran.rows.is_empty() {
            return Err(Failure::work(format!("the suite has no `{name}` for {version}")));
        }
        rows.extend(ran.rows.into_iter().map(named));
    }
    Ok(rows)
}

/// The rows that count, and how many of the others there are for each reason.
fn sort(
    rows: Vec<Row>,
    revision: &str,
) -> Result<(Vec<Row>, BTreeMap<&'static str, usize>), Failure> {
    let mut judged = Vec::new();
    let mut left_out = BTreeMap::new();
    for mut row in rows.into_iter().map(named) {
        let name = name(&row).to_owned();
        if is_of_tools(&name, revision) {
            for reason in without_unmade(&name, &mut row) {
                *left_out.entry(reason).or_default() += 1;
            }
            judged.push(row);
        } else if let Some(reason) = why_not(&name) {
            *left_out.entry(reason).or_default() += 1;
        } else {
            return Err(Failure::work(format!(
                "the suite has a scenario `{name}` at {revision} that nobody has considered"
            ))
            .with_hint("say in xtask/src/conformance/scenarios.rs whether it applies"));
        }
    }
    let has_run = |expected: &str| judged.iter().any(|row| name(row) == expected);
    match OF_TOOLS.iter().find(|(name, of)| of.contains(&revision) && !has_run(name)) {
        None => Ok((judged, left_out)),
        Some((name, _)) => {
            Err(Failure::work(format!("the suite did not run `{name}` at {revision}")))
        }
    }
}

/// The row under a name that no scenario of clients has.
fn named(mut row: Row) -> Row {
    let name = row.scenario.strip_prefix(PREFIX).unwrap_or(&row.scenario);
    row.scenario = format!("server/{name}");
    row
}

fn name(row: &Row) -> &str {
    row.scenario.strip_prefix("server/").unwrap_or(&row.scenario)
}

fn is_of_tools(scenario: &str, revision: &str) -> bool {
    OF_TOOLS.iter().any(|(name, of)| *name == scenario && of.contains(&revision))
}

fn why_not(scenario: &str) -> Option<&'static str> {
    let found = NOT_APPLICABLE.iter().find(|(_, names)| names.contains(&scenario));
    found.map(|(reason, _)| *reason)
}

/// Takes out the checks that could not be made, and tells why each. One that is made after all has
/// to be held from then on.
fn without_unmade(scenario: &str, row: &mut Row) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    for (_, check, reason) in NOT_CHECKED.iter().filter(|(of, ..)| *of == scenario) {
        let before = row.failed.len();
        row.failed.retain(|failed| failed.split_once(": ").is_none_or(|(id, _)| id != *check));
        if row.failed.len() < before {
            reasons.push(*reason);
        } else {
            row.failed.push(format!("{check}: is held now, and stands among those not made"));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scenario: &str, failed: &[&str]) -> Row {
        Row {
            scenario: format!("server-{scenario}"),
            version: "2026-07-28".to_owned(),
            passed: 1,
            failed: failed.iter().map(|&check| check.to_owned()).collect(),
        }
    }

    /// A run of all that the revision asks of servers of tools, as it should go.
    fn good() -> Vec<Row> {
        let names = OF_TOOLS.iter().filter(|(_, of)| of.contains(&"2026-07-28"));
        let unmade = |name: &str| -> Vec<String> {
            let of = NOT_CHECKED.iter().filter(|(scenario, ..)| *scenario == name);
            of.map(|(_, check, _)| format!("{check}: cannot be tested")).collect()
        };
        names.map(|(name, _)| Row { failed: unmade(name), ..row(name, &[]) }).collect()
    }

    #[test]
    fn what_does_not_apply_is_left_out_and_never_counted() {
        let mut rows = good();
        rows.push(row("tools-call-audio", &["tools-call-audio: no such tool"]));
        rows.push(row("input-required-result-validate-input", &[]));
        let (judged, left_out) = sort(rows, "2026-07-28").unwrap();
        assert_eq!(judged.len(), 7);
        assert!(judged.iter().all(Row::holds), "{judged:?}");
        assert_eq!(left_out.values().sum::<usize>(), 2 + NOT_CHECKED.len());
    }

    #[test]
    fn every_scenario_must_be_in_a_table_and_every_one_in_the_table_must_run() {
        let mut rows = good();
        rows.push(row("something-new", &[]));
        let told = sort(rows, "2026-07-28").unwrap_err().to_string();
        assert!(told.contains("`something-new` at 2026-07-28 that nobody"), "{told}");
        let mut rows = good();
        rows.pop();
        let told = sort(rows, "2026-07-28").unwrap_err().to_string();
        assert!(told.contains("did not run"), "{told}");
        for (_, names) in NOT_APPLICABLE {
            assert!(names.iter().all(|name| OF_TOOLS.iter().all(|(other, _)| other != name)));
        }
    }

    #[test]
    fn a_check_that_fails_counts_and_an_exception_that_is_not_needed_too() {
        let mut rows = good();
        rows[0].failed.push("tools-list: is wrong".to_owned());
        assert!(!sort(rows, "2026-07-28").unwrap().0[0].holds());
        let mut caching = row("caching", &[]);
        assert_eq!(without_unmade("caching", &mut caching).len(), 0);
        assert!(!caching.holds());
    }
}
