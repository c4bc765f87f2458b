//! `agent gateway ledger check`: everything added up again.

use gateway_store::LedgerCheck;
use serde_json::{Value, json};

use crate::commands::gateway::amount::in_credits;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::{OperatorStore, refused, trouble};
use crate::diagnostic::Diagnostic;
use crate::output::{ERROR, GOOD};
use crate::session::Session;
use crate::table::{Alignment, Table, grouped};

/// Recompute all balances and compare them with the ledger
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The service can keep running.

Exit codes: 0 the ledger is consistent, 1 it is not.

Examples:
  agent gateway ledger check
  agent gateway ledger check --repair-usage")]
pub(crate) struct Args {
    /// Rebuild the usage tables from receipts first; requests wait meanwhile
    #[arg(long)]
    repair_usage: bool,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let check = OperatorStore::with(location, session, async |books| {
        if args.repair_usage {
            books.store.rebuild_usage().await.map_err(|error| trouble(&error))?;
        }
        let alerts = books.config.alerts.as_ref();
        books.operator().check_ledger(alerts).await.map_err(refused)
    })?;
    if session.output.is_json() {
        session.output.json(&check_json(&check))?;
    } else {
        session.output.text(text(&check))?;
    }
    if check.wrong == 0 { Ok(()) } else { Err(Diagnostic::already_told()) }
}

fn check_json(check: &LedgerCheck) -> Value {
    let house: serde_json::Map<String, Value> =
        check.house.iter().map(|(name, sum)| (name.clone(), sum.get().into())).collect();
    let findings = check.findings.iter().map(|finding| {
        json!({
            "what": finding.what,
            "figure": finding.figure,
            "stored": finding.stored,
            "added_up": finding.added_up,
        })
    });
    json!({
        "members": check.members,
        "postings": check.postings,
        "holds": check.holds,
        "members_micros": check.members_total.get(),
        "house_micros": house,
        "sum_micros": check.sum.get(),
        "wrong": check.wrong,
        "findings": findings.collect::<Vec<Value>>(),
    })
}

fn text(check: &LedgerCheck) -> String {
    let mut table =
        Table::new([("account", Alignment::Left), ("sum of postings", Alignment::Left)]);
    table.row(["members".to_owned(), in_credits(check.members_total)]);
    for (name, sum) in &check.house {
        table.row([name.clone(), in_credits(*sum)]);
    }
    table.row(["total".to_owned(), in_credits(check.sum)]);
    let mut text = table.text();
    text.push_str(&format!(
        "\nmembers {}, postings {}, live holds {}\n",
        grouped(check.members),
        grouped(check.postings),
        grouped(check.holds)
    ));
    if check.wrong == 0 {
        text.push_str(&format!("{GOOD}The ledger is consistent.{GOOD:#}\n"));
        return text;
    }
    text.push_str(&format!("{ERROR}Inconsistencies found: {}{ERROR:#}\n", check.wrong));
    let mut findings = Table::new([
        ("what", Alignment::Left),
        ("figure", Alignment::Left),
        ("stored", Alignment::Right),
        ("computed", Alignment::Right),
    ]);
    for finding in &check.findings {
        findings.row([
            finding.what.clone(),
            finding.figure.clone(),
            finding.stored.to_string(),
            finding.added_up.to_string(),
        ]);
    }
    text.push_str(&findings.text());
    text
}
