//! `agent gateway ledger`: charges, payments, and the check of their sums.

use std::iter;

use clap::Subcommand;
use gateway::{attempts, rfc3339};
use gateway_store::{LedgerCheck, LedgerFinding, Member, StatementLine};
use ledger::{HoldId, Micros};
use serde_json::{Value, json};
use task_loop::member::credits;
use task_loop::untrusted::printable;
use wire::account::AttemptView;

use super::amount::in_credits;
use super::moment::shown;
use super::operator_store::{Context, OperatorStore};
use crate::diagnostic::{Diagnostic, Result};
use crate::output::{ERROR, GOOD};
use crate::table::{Table, csv, details, grouped};

/// Show statements and receipts, and verify the ledger
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent gateway ledger statement alice
  agent gateway ledger check")]
pub(crate) enum Command {
    Statement(Statement),
    Receipt(Receipt),
    Check(Check),
}

pub(crate) fn run(command: Command, context: Context<'_>) -> Result {
    match command {
        Command::Statement(args) => context.with(async |books| statement(&args, books).await),
        Command::Receipt(args) => receipt(&args, context),
        Command::Check(args) => context.with(async |books| check(&args, books).await),
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

fn receipt(args: &Receipt, context: Context<'_>) -> Result {
    let id = HoldId::parse(&args.id).ok_or_else(|| {
        Diagnostic::usage(format!("invalid request id `{}`", printable(&args.id))).hint(
            "a request id is `req_` and 32 digits; every response has it in the header \
             `x-request-id`",
        )
    })?;
    let (found, related) = context.with(async |books| {
        let found = books.store.receipt(None, id).await?;
        Ok((found, books.store.related_receipts(id).await?))
    })?;
    let receipt = found.ok_or_else(|| {
        Diagnostic::failed(format!("no receipt for {id}"))
            .hint("running requests and requests rejected before a hold have no receipt")
    })?;
    let attempts = attempts(&receipt);
    let json = json!({
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
        "attempts": attempts,
        "parent": related.parent.map(|id| id.to_string()),
        "children": related.children.iter().map(|child| json!({
            "id": child.id.to_string(),
            "operation": child.operation,
            "rule": child.rule.as_str(),
            "charge_micros": child.charged.get(),
        })).collect::<Vec<_>>(),
    });
    let count =
        |tokens: Option<i64>| tokens.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let tokens = [receipt.tokens.input, receipt.tokens.output].map(count);
    let mut lines = vec![
        ("member", receipt.member.to_string()),
        ("for", receipt.operation.to_string()),
        ("model", receipt.model.as_deref().unwrap_or("-").to_owned()),
        ("outcome", format!("{} ({})", receipt.rule.outcome().as_str(), receipt.rule.as_str())),
        ("charged", in_credits(receipt.charged)),
        ("began", shown(receipt.since)),
        ("ended", shown(receipt.at)),
        ("tokens", format!("{} in, {} out", tokens[0], tokens[1])),
    ];
    if receipt.payer != receipt.member {
        lines.insert(1, ("paid by", format!("team {}", receipt.payer)));
    }
    lines.extend(attempts.into_iter().map(|attempt| {
        let AttemptView { model, outcome, took_ms } = attempt;
        ("tried", format!("{model} {outcome} after {took_ms} ms"))
    }));
    lines.extend(related.parent.map(|parent| ("parent", parent.to_string())));
    lines.extend(related.children.iter().map(|child| {
        let (id, operation, charged) = (child.id, &child.operation, in_credits(child.charged));
        ("child", format!("{id} {operation} {charged} ({})", child.rule.as_str()))
    }));
    context.output.print(&json, format!("{id}\n{}", details(&lines)))
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

async fn check(args: &Check, books: &OperatorStore<'_>) -> Result {
    if args.repair_usage {
        books.store.rebuild_usage().await?;
    }
    let check = books.operator().check_ledger(books.config.alerts.as_ref()).await?;
    books.output.print(&check_json(&check), check_text(&check))?;
    if check.wrong == 0 { Ok(()) } else { Err(Diagnostic::already_reported()) }
}

fn check_json(check: &LedgerCheck) -> Value {
    let house: serde_json::Map<String, Value> =
        check.house.iter().map(|(name, sum)| (name.clone(), sum.get().into())).collect();
    let finding = |it: &LedgerFinding| json!({ "what": it.what, "figure": it.figure, "stored": it.stored, "added_up": it.added_up });
    json!({
        "members": check.members,
        "postings": check.postings,
        "holds": check.holds,
        "members_micros": check.members_total.get(),
        "house_micros": house,
        "sum_micros": check.sum.get(),
        "wrong": check.wrong,
        "findings": check.findings.iter().map(finding).collect::<Value>(),
    })
}

fn check_text(check: &LedgerCheck) -> String {
    let house = check.house.iter().map(|(name, sum)| (name.as_str(), *sum));
    let sums = iter::once(("members", check.members_total)).chain(house);
    let sums = sums.chain(iter::once(("total", check.sum)));
    let row = |(name, sum): (&str, Micros)| [name.to_owned(), in_credits(sum)];
    let mut text = Table::new(["account", "sum of postings"]).rows(sums.map(row)).text();
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
    let row = |finding: &LedgerFinding| {
        let (what, figure) = (finding.what.clone(), finding.figure.clone());
        [what, figure, finding.stored.to_string(), finding.added_up.to_string()]
    };
    let findings = Table::new(["what", "figure", "stored", "computed"])
        .align_right(&["stored", "computed"])
        .rows(check.findings.iter().map(row));
    text + &findings.text()
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

async fn statement(args: &Statement, books: &OperatorStore<'_>) -> Result {
    let member = books.any_account(&args.member).await?;
    let before = args.before.unwrap_or(i64::MAX);
    let lines = books.store.statement(member.id, before, args.limit).await?;
    let output = &books.output;
    if args.csv && !output.is_json() {
        return output.bytes(&values(&lines)?);
    }
    let none = format!("No postings for {}.", printable(&member.name));
    table(&lines).print(output, &statement_json(&member, &lines), &none)?;
    if u32::try_from(lines.len()).is_ok_and(|count| count == args.limit)
        && let Some(last) = lines.last()
    {
        output.tell(format!("There may be more; continue with `--before {}`.", last.id));
    }
    Ok(())
}

fn statement_json(member: &Member, lines: &[StatementLine]) -> Value {
    let line = |line: &StatementLine| {
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
    };
    let lines: Vec<Value> = lines.iter().map(line).collect();
    json!({ "member": member.id.to_string(), "name": member.name, "lines": lines })
}

fn receipt_id(line: &StatementLine) -> Option<String> {
    line.posting.hold.as_ref().map(HoldId::to_string)
}

fn table(lines: &[StatementLine]) -> Table {
    let row = |line: &StatementLine| {
        let posting = &line.posting;
        let parts = [line.operation.clone(), line.model.clone(), posting.reason.clone()];
        let parts: Vec<String> = parts.into_iter().flatten().chain(receipt_id(line)).collect();
        [
            line.id.to_string(),
            shown(posting.at),
            posting.kind.as_str().replace('_', "-"),
            credits(posting.amount.get()),
            credits(posting.balance.get()),
            parts.join(" "),
        ]
    };
    Table::new(["line", "when (UTC)", "what", "amount", "balance", "for"])
        .align_right(&["line", "amount", "balance"])
        .rows(lines.iter().map(row))
}

fn values(lines: &[StatementLine]) -> Result<Vec<u8>> {
    const HEADINGS: &str =
        "line,at,kind,amount_micros,balance_micros,operation,model,receipt,reason";
    let line = |line: &StatementLine| {
        let posting = &line.posting;
        vec![
            line.id.to_string(),
            rfc3339(posting.at),
            posting.kind.as_str().to_owned(),
            posting.amount.get().to_string(),
            posting.balance.get().to_string(),
            line.operation.clone().unwrap_or_default(),
            line.model.clone().unwrap_or_default(),
            receipt_id(line).unwrap_or_default(),
            posting.reason.clone().unwrap_or_default(),
        ]
    };
    let headings = HEADINGS.split(',').map(str::to_owned).collect();
    csv(iter::once(headings).chain(lines.iter().map(line)))
}
