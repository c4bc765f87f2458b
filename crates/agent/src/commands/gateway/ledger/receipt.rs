//! `agent gateway ledger receipt`.

use gateway::{attempts, rfc3339};
use ledger::HoldId;
use serde_json::json;
use task_loop::untrusted::printable;
use wire::account::AttemptView;

use crate::commands::gateway::amount::in_credits;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::moment::shown;
use crate::commands::gateway::operator_store::{OperatorStore, trouble};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Show the receipt of a request
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Responses carry the id in `x-request-id` and `x-receipt-id`.

Examples:
  agent gateway ledger receipt req_019876543210abcdef0123456789abcd")]
pub(crate) struct Args {
    /// Request id
    id: String,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let id = HoldId::parse(&args.id).ok_or_else(|| {
        Diagnostic::usage(format!("invalid request id `{}`", printable(&args.id))).hint(
            "a request id is `req_` and 32 digits; every response has it in the header \
             `x-request-id`",
        )
    })?;
    let (found, related) = OperatorStore::with(location, session, async |books| {
        let found = books.store.receipt(None, id).await.map_err(|error| trouble(&error))?;
        let related = books.store.related_receipts(id).await;
        Ok((found, related.map_err(|error| trouble(&error))?))
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
