//! `agent gateway ledger statement`.

use gateway::rfc3339;
use gateway_store::{Member, StatementLine};
use ledger::HoldId;
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use crate::commands::gateway::file::Location;
use crate::commands::gateway::moment::shown;
use crate::commands::gateway::operator_store::{OperatorStore, trouble};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::table::{Alignment, Table};

/// List charges and payments of a member or a team, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Amounts are credits; --csv and --json print micro-credits.

Examples:
  agent gateway ledger statement alice
  agent gateway ledger statement alice --csv > alice.csv
  agent gateway ledger statement alice --before 1200 --limit 50")]
pub(crate) struct Args {
    /// Name or id of a member or a team, for example `mem_3`
    member: String,
    /// Maximum number of lines
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// List lines with a number below N
    #[arg(long, value_name = "N")]
    before: Option<i64>,
    /// Print CSV
    #[arg(long)]
    csv: bool,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let (member, lines) = OperatorStore::with(location, session, async |books| {
        let member = books.any_account(&args.member).await?;
        let before = args.before.unwrap_or(i64::MAX);
        let lines = books.store.statement(member.id, before, args.limit).await;
        Ok((member, lines.map_err(|error| trouble(&error))?))
    })?;
    if session.output.is_json() {
        return session.output.json(&statement_json(&member, &lines));
    }
    if args.csv {
        return session.output.bytes(&values(&lines)?);
    }
    if lines.is_empty() {
        session.output.note(format!("No postings for {}.", printable(&member.name)));
        return Ok(());
    }
    session.output.text(table(&lines))?;
    if u32::try_from(lines.len()).is_ok_and(|count| count == args.limit)
        && let Some(last) = lines.last()
    {
        session.output.note(format!("There may be more; continue with `--before {}`.", last.id));
    }
    Ok(())
}

fn statement_json(member: &Member, lines: &[StatementLine]) -> Value {
    let lines = lines.iter().map(|line| {
        let posting = &line.posting;
        json!({
            "id": line.id,
            "at": rfc3339(posting.at),
            "kind": posting.kind.as_str(),
            "amount_micros": posting.amount.get(),
            "balance_micros": posting.balance.get(),
            "operation": line.operation,
            "model": line.model,
            "receipt": receipt(line),
            "asked_by": line.asked_by.map(|member| member.to_string()),
            "reason": posting.reason,
        })
    });
    json!({
        "member": member.id.to_string(),
        "name": member.name,
        "lines": lines.collect::<Vec<Value>>(),
    })
}

fn receipt(line: &StatementLine) -> Option<String> {
    line.posting.hold.as_ref().map(HoldId::to_string)
}

fn table(lines: &[StatementLine]) -> String {
    let mut table = Table::new([
        ("line", Alignment::Right),
        ("when (UTC)", Alignment::Left),
        ("what", Alignment::Left),
        ("amount", Alignment::Right),
        ("balance", Alignment::Right),
        ("for", Alignment::Left),
    ]);
    for line in lines {
        let posting = &line.posting;
        let parts = [line.operation.clone(), line.model.clone(), posting.reason.clone()];
        let parts: Vec<String> = parts.into_iter().flatten().chain(receipt(line)).collect();
        table.row([
            line.id.to_string(),
            shown(posting.at),
            posting.kind.as_str().replace('_', "-"),
            posting.amount.to_string(),
            posting.balance.to_string(),
            parts.join(" "),
        ]);
    }
    table.text()
}

fn values(lines: &[StatementLine]) -> Result<Vec<u8>, Diagnostic> {
    let cannot =
        |error: csv::Error| Diagnostic::failed("cannot write the values as CSV").because(&error);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record([
            "line",
            "at",
            "kind",
            "amount_micros",
            "balance_micros",
            "operation",
            "model",
            "receipt",
            "reason",
        ])
        .map_err(cannot)?;
    for line in lines {
        let posting = &line.posting;
        writer
            .write_record([
                line.id.to_string(),
                rfc3339(posting.at),
                posting.kind.as_str().to_owned(),
                posting.amount.get().to_string(),
                posting.balance.get().to_string(),
                line.operation.clone().unwrap_or_default(),
                line.model.clone().unwrap_or_default(),
                receipt(line).unwrap_or_default(),
                posting.reason.clone().unwrap_or_default(),
            ])
            .map_err(cannot)?;
    }
    writer.into_inner().map_err(|error| {
        Diagnostic::failed("cannot write the values as CSV").because(error.error())
    })
}
