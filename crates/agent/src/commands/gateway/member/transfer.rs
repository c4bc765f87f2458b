//! `top-up` and `adjust` of members and teams: money that moves by an operator's hand.

use gateway::rfc3339;
use gateway_store::Member;
use ledger::{AccountKind, Micros, PostingKind, Transfer, TransferResult};
use serde_json::json;
use task_loop::untrusted::printable;

use crate::commands::gateway::amount::{AmountUnit, in_credits};
use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::OperatorStore;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(in crate::commands::gateway) struct TransferArgs {
    /// Member name or id, for example `mem_3`
    #[arg(index = 1)]
    member: String,
    /// Amount in credits
    #[arg(index = 2, allow_hyphen_values = true)]
    amount: String,
    /// Reason, recorded in the statement and the audit log
    #[arg(long)]
    reason: String,
    /// Unique reference; repeating the command with it has no effect
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

impl TransferArgs {
    pub(in crate::commands::gateway) fn top_up(
        &self,
        account: AccountKind,
        location: &Location,
        session: &Session,
    ) -> Result<(), Diagnostic> {
        let amount = &self.amount;
        if self.unit.read(amount)? <= Micros::ZERO {
            let hint = format!("remove credit with `agent gateway {} adjust`", account.as_str());
            let message = format!("the amount must be positive, found `{amount}`");
            return Err(Diagnostic::usage(message).hint(hint));
        }
        self.run(account, PostingKind::TopUp, location, session)
    }

    pub(in crate::commands::gateway) fn run(
        &self,
        account: AccountKind,
        kind: PostingKind,
        location: &Location,
        session: &Session,
    ) -> Result<(), Diagnostic> {
        let amount = self.unit.read(&self.amount)?;
        let (member, posted) = OperatorStore::with(location, session, async |books| {
            let member = books.account(&self.member, account).await?;
            let transfer = Transfer {
                member: member.id,
                kind,
                amount,
                reason: self.reason.trim().to_owned(),
                reference: self.reference.clone(),
            };
            let posted = books.operator().transfer(transfer).await?;
            Ok((member, posted))
        })?;
        tell(&member, posted, session)
    }
}

fn tell(member: &Member, posted: TransferResult, session: &Session) -> Result<(), Diagnostic> {
    let is_before = matches!(posted, TransferResult::AlreadyPosted(_));
    let posting = posted.into_posting();
    if session.output.is_json() {
        return session.output.json(&json!({
            "member": member.id.to_string(),
            "name": member.name,
            "at": rfc3339(posting.at),
            "kind": posting.kind.as_str(),
            "amount_micros": posting.amount.get(),
            "balance_micros": posting.balance.get(),
            "reason": posting.reason,
            "reference": posting.reference,
            "replayed": is_before,
        }));
    }
    let name = printable(&member.name);
    let word = if posting.kind == PostingKind::TopUp { "Added credit" } else { "Adjusted" };
    let when = if is_before {
        format!(" already on {}, not repeated", rfc3339(posting.at))
    } else {
        String::new()
    };
    session.output.text(format!("{GOOD}{word}{GOOD:#}{when}: {name} ({}).\n", member.id))?;
    session.output.text(format!(
        "  amount   {}\n  balance  {}\n",
        in_credits(posting.amount),
        in_credits(posting.balance)
    ))
}
