//! `agent gateway ledger`: what was charged and paid, and whether it adds up.

use clap::Subcommand;
use gateway::{attempts, rfc3339};
use gateway_store::{LedgerCheck, Member, StatementLine};
use ledger::HoldId;
use serde_json::{Value, json};
use task_loop::untrusted::printable;
use wire::account::AttemptView;

use super::amount::in_credits;
use super::file::Location;
use super::moment::shown;
use super::operator_store::OperatorStore;
use crate::diagnostic::Diagnostic;
use crate::output::{ERROR, GOOD};
use crate::session::Session;
use crate::table::{Table, grouped};

/// Show statements and receipts, and verify the ledger
#[derive(Debug, Subcommand)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  agent gateway ledger statement alice
  agent gateway ledger check"
)]
pub(crate) enum Command {
    Statement(Statement),
    Receipt(Receipt),
    Check(Check),
}

pub(crate) fn run(
    command: Command,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    match command {
        Command::Statement(args) => statement(&args, location, session),
        Command::Receipt(args) => receipt(&args, location, session),
        Command::Check(args) => check(&args, location, session),
    }
}

/// Show the receipt of a request
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Responses carry the id in `x-request-id` and `x-receipt-id`.

Examples:
  agent gateway ledger receipt req_019876543210abcdef0123456789abcd")]
pub(crate) struct Receipt {
    /// Request id
    id: String,
}

pub(crate) fn receipt(
    args: &Receipt,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let id = HoldId::parse(&args.id).ok_or_else(|| {
        Diagnostic::usage(format!("invalid request id `{}`", printable(&args.id))).hint(
            "a request id is `req_` and 32 digits; every response has it in the header \
             `x-request-id`",
        )
    })?;
    let (found, related) = OperatorStore::with(location, session, async |books| {
        let found = books.store.receipt(None, id).await?;
        let related = books.store.related_receipts(id).await;
        Ok((found, related?))
    })?;
    let receipt = found.ok_or_else(|| {
        Diagnostic::failed(format!("no receipt for {id}"))
            .hint("running requests and requests rejected before a hold have no receipt")
    })?;
    if session.output.is_json() {
        return session.output.json(&json!({
            "id": receipt.id.to_string(),
            "member": receipt.member.to_string(),
            "payer": receipt.payer.to_string(),
            "operation": receipt.operation,
            "model": receipt.model,
            "outcome": receipt.rule.outcome().as_str(),
            "rule": receipt.rule.as_str(),
            "charge_micros": receipt.charged.get(),
            "started_at": rfc3339(receipt.since),
            "ended_at": rfc3339(receipt.at),
            "input_tokens": receipt.tokens.input,
            "output_tokens": receipt.tokens.output,
            "attempts": attempts(&receipt),
            "parent": related.parent.map(|id| id.to_string()),
            "children": related.children.iter().map(|child| json!({
                "id": child.id.to_string(),
                "operation": child.operation,
                "rule": child.rule.as_str(),
                "charge_micros": child.charged.get(),
            })).collect::<Vec<_>>(),
        }));
    }
    let count =
        |tokens: Option<i64>| tokens.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let mut lines = vec![
        ("member", receipt.member.to_string()),
        ("for", receipt.operation.to_string()),
        ("model", receipt.model.as_deref().unwrap_or("-").to_owned()),
        ("outcome", format!("{} ({})", receipt.rule.outcome().as_str(), receipt.rule.as_str())),
        ("charged", in_credits(receipt.charged)),
        ("began", shown(receipt.since)),
        ("ended", shown(receipt.at)),
        (
            "tokens",
            format!("{} in, {} out", count(receipt.tokens.input), count(receipt.tokens.output)),
        ),
    ];
    if receipt.payer != receipt.member {
        lines.insert(1, ("paid by", format!("team {}", receipt.payer)));
    }
    lines.extend(attempts(&receipt).into_iter().map(|attempt| {
        let AttemptView { model, outcome, took_ms } = attempt;
        ("tried", format!("{model} {outcome} after {took_ms} ms"))
    }));
    lines.extend(related.parent.map(|parent| ("parent", parent.to_string())));
    lines.extend(related.children.iter().map(|child| {
        let (id, operation, charged) = (child.id, &child.operation, in_credits(child.charged));
        ("child", format!("{id} {operation} {charged} ({})", child.rule.as_str()))
    }));
    let mut text = format!("{id}\n");
    for (label, value) in lines {
        text.push_str(&format!("  {label:<7}  {}\n", printable(&value)));
    }
    session.output.text(text)
}

/// Recompute all balances and compare them with the ledger
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The service can keep running.

Exit codes: 0 the ledger is consistent, 1 it is not.

Examples:
  agent gateway ledger check
  agent gateway ledger check --repair-usage")]
pub(crate) struct Check {
    /// Rebuild the usage tables from receipts first; requests wait meanwhile
    #[arg(long)]
    repair_usage: bool,
}

pub(crate) fn check(
    args: &Check,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let check = OperatorStore::with(location, session, async |books| {
        if args.repair_usage {
            books.store.rebuild_usage().await?;
        }
        let alerts = books.config.alerts.as_ref();
        Ok(books.operator().check_ledger(alerts).await?)
    })?;
    if session.output.is_json() {
        session.output.json(&check_json(&check))?;
    } else {
        session.output.text(check_text(&check))?;
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

fn check_text(check: &LedgerCheck) -> String {
    let mut table = Table::new(["account", "sum of postings"]);
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
    let mut findings =
        Table::new(["what", "figure", "stored", "computed"]).align_right(&["stored", "computed"]);
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

/// List charges and payments of a member or a team, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Amounts are credits; --csv and --json print micro-credits.

Examples:
  agent gateway ledger statement alice
  agent gateway ledger statement alice --csv > alice.csv
  agent gateway ledger statement alice --before 1200 --limit 50")]
pub(crate) struct Statement {
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

pub(crate) fn statement(
    args: &Statement,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let (member, lines) = OperatorStore::with(location, session, async |books| {
        let member = books.any_account(&args.member).await?;
        let before = args.before.unwrap_or(i64::MAX);
        let lines = books.store.statement(member.id, before, args.limit).await;
        Ok((member, lines?))
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
            "receipt": receipt_id(line),
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

fn receipt_id(line: &StatementLine) -> Option<String> {
    line.posting.hold.as_ref().map(HoldId::to_string)
}

fn table(lines: &[StatementLine]) -> String {
    let mut table = Table::new(["line", "when (UTC)", "what", "amount", "balance", "for"])
        .align_right(&["line", "amount", "balance"]);
    for line in lines {
        let posting = &line.posting;
        let parts = [line.operation.clone(), line.model.clone(), posting.reason.clone()];
        let parts: Vec<String> = parts.into_iter().flatten().chain(receipt_id(line)).collect();
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
                receipt_id(line).unwrap_or_default(),
                posting.reason.clone().unwrap_or_default(),
            ])
            .map_err(cannot)?;
    }
    writer.into_inner().map_err(|error| {
        Diagnostic::failed("cannot write the values as CSV").because(error.error())
    })
}
