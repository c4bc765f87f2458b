//! Compares the ledger with what the clients of a round received.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::deployment::{Deployment, JOB_PRICE_MICROS, Member};
use crate::load::{Operation, Outcome, REPEATED_MODEL, Record};

/// The lease is 2 s; the rest is for a loaded machine.
const RELEASE: Duration = Duration::from_secs(30);
/// A research job whose step failed may be retried 5 minutes later, and holds its price until then.
const JOB_END: Duration = Duration::from_mins(7);
const POLL: Duration = Duration::from_millis(200);
const PAGE: usize = 1000;

/// What all rounds found.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    complete: usize,
    failed: usize,
    unknown: usize,
    unknown_charged: usize,
    codes: BTreeMap<String, usize>,
    pub(crate) violations: Vec<String>,
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} complete answers, each charged once; {} errors, none charged; {} answers cut, {} of \
             them charged once; error codes {:?}",
            self.complete, self.failed, self.unknown, self.unknown_charged, self.codes
        )
    }
}

/// The charges of a member by receipt.
struct Charges {
    by_receipt: HashMap<String, usize>,
    of_repeated_model: BTreeSet<String>,
}

/// Checks one round; returns a line about it.
pub(crate) fn check(
    deployment: &Deployment,
    member: &Member,
    records: &[Record],
    totals: &mut Totals,
) -> String {
    let before = totals.violations.len();
    if let Some(leak) = find_leak(deployment, member) {
        totals.violations.push(format!("{}: {leak}", member.name));
    }
    let ledger = deployment.try_gateway(&["ledger", "check", "--json"]);
    if ledger.code != 0 {
        totals.violations.push(format!("{}: ledger check: {ledger:?}", member.name));
    }
    let charges = Charges::load(deployment, member);
    compare(member, records, &charges, totals);
    for violation in &totals.violations[before..] {
        println!("VIOLATION {violation}");
    }
    let complete =
        records.iter().filter(|record| matches!(record.outcome, Outcome::Complete { .. })).count();
    format!(
        "{complete:5} of {:5} answered, {:5} charged, {} violations",
        records.len(),
        charges.by_receipt.len(),
        totals.violations.len() - before
    )
}

fn compare(member: &Member, records: &[Record], charges: &Charges, totals: &mut Totals) {
    let mut unexplained: BTreeSet<&str> = charges.by_receipt.keys().map(String::as_str).collect();
    let mut repeated = BTreeSet::new();
    let mut unknown = 0;
    let mut violation = |text: String| totals.violations.push(format!("{}: {text}", member.name));
    for (receipt, count) in &charges.by_receipt {
        if *count != 1 {
            violation(format!("{receipt} is charged {count} times"));
        }
    }
    for Record { operation, outcome } in records {
        match outcome {
            Outcome::Complete { receipt } => {
                totals.complete += 1;
                unexplained.remove(receipt.as_str());
                if *operation == Operation::Repeated {
                    repeated.insert(receipt.clone());
                }
                if !charges.by_receipt.contains_key(receipt) {
                    violation(format!("{operation:?}: complete answer {receipt} is not charged"));
                }
            }
            Outcome::Failed { receipt, status, code } => {
                totals.failed += 1;
                let kind = format!("{operation:?} {status} {code}");
                if receipt.as_ref().is_some_and(|receipt| charges.by_receipt.contains_key(receipt))
                {
                    violation(format!("{kind}: an error is charged as {receipt:?}"));
                }
                if matches!(status, 500) {
                    violation(kind.clone());
                }
                *totals.codes.entry(kind).or_default() += 1;
            }
            Outcome::Unknown => unknown += 1,
            Outcome::Hung => violation(format!("{operation:?}: no answer at all")),
        }
    }
    // A request with an Idempotency-Key is repeated until it is answered, so that none is unknown.
    if repeated != charges.of_repeated_model {
        violation(format!(
            "{} idempotency keys were answered, {} were charged",
            repeated.len(),
            charges.of_repeated_model.len()
        ));
    }
    if unexplained.len() > unknown {
        violation(format!("{} charges, but only {unknown} cut answers", unexplained.len()));
    }
    totals.unknown += unknown;
    totals.unknown_charged += unexplained.len();
}

/// What is wrong with the holds that are left, if anything.
fn find_leak(deployment: &Deployment, member: &Member) -> Option<&'static str> {
    let show = match &member.team {
        Some(team) => ["team", "show", team],
        None => ["member", "show", &member.name],
    };
    let begun = Instant::now();
    let mut explained = begun;
    loop {
        let jobs = deployment.open_jobs(member);
        let held = deployment.gateway_json(&show)["held_micros"].as_u64();
        if jobs == Some(0) && held == Some(0) {
            return None;
        }
        if held.is_some() && held == jobs.map(|jobs| jobs * JOB_PRICE_MICROS) {
            explained = Instant::now();
        }
        if explained.elapsed() > RELEASE {
            return Some("a hold that is not that of an open research job is left after its lease");
        }
        if begun.elapsed() > JOB_END {
            return Some("a research job does not end");
        }
        sleep(POLL);
    }
}

impl Charges {
    fn load(deployment: &Deployment, member: &Member) -> Self {
        let mut charges = Self { by_receipt: HashMap::new(), of_repeated_model: BTreeSet::new() };
        let mut before = String::new();
        loop {
            let limit = PAGE.to_string();
            let payer = member.team.as_ref().unwrap_or(&member.name);
            let mut arguments = vec!["ledger", "statement", payer, "--limit", &limit];
            if !before.is_empty() {
                arguments.extend(["--before", &before]);
            }
            let statement = deployment.gateway_json(&arguments);
            let lines = statement["lines"].as_array().unwrap();
            for line in lines.iter().filter(|line| line["kind"] == "charge") {
                charges.add(line);
            }
            let Some(last) = lines.last().filter(|_| lines.len() == PAGE) else { return charges };
            before = last["id"].to_string();
        }
    }

    fn add(&mut self, line: &Value) {
        let receipt = line["receipt"].as_str().unwrap_or_default().to_owned();
        if line["model"] == REPEATED_MODEL {
            self.of_repeated_model.insert(receipt.clone());
        }
        *self.by_receipt.entry(receipt).or_default() += 1;
    }
}
