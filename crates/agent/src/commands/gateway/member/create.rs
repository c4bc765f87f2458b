//! `agent gateway member create`.

use gateway::operator::Error;
use gateway_store::Member;
use ledger::{Account, Micros, PostingKind, Transfer};
use task_loop::untrusted::printable;

use super::{account, member_json};
use crate::commands::gateway::amount::{AmountUnit, in_credits};
use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::{OperatorStore, refused};
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

/// Create a member
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent gateway member create alice
  agent gateway member create bob --credit 12.5")]
pub(crate) struct Args {
    /// Unique name
    name: String,
    /// Initial credit
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    credit: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let credit = args.credit.as_deref().map(|text| args.unit.read(text)).transpose()?;
    if credit.is_some_and(Micros::is_negative) {
        return Err(Diagnostic::usage("the initial credit must not be negative"));
    }
    let credit = credit.unwrap_or(Micros::ZERO);
    let (member, account) = OperatorStore::with(location, session, async |books| {
        create(books, &args.name, credit).await
    })?;
    if session.output.is_json() {
        return session.output.json(&member_json(&member, &account));
    }
    let id = member.id.to_string();
    let name = printable(&member.name);
    session.output.text(format!("{GOOD}Created{GOOD:#} member {name} ({id}).\n"))?;
    session.output.text(format!("  balance  {}\n", in_credits(account.balance)))?;
    session
        .output
        .note(format!("Create a key with `agent gateway key create {name} --name NAME`."));
    Ok(())
}

/// Creates a member with credit.
pub(in crate::commands::gateway) async fn create(
    books: &OperatorStore,
    name: &str,
    credit: Micros,
) -> Result<(Member, Account), Diagnostic> {
    let made = books.operator().create_member(name).await;
    let member = made.map_err(|error| match error {
        Error::Exists(_) => {
            Diagnostic::failed(format!("member `{}` exists already", printable(name)))
                .hint("add credit with `agent gateway member top-up`")
        }
        error => refused(error),
    })?;
    if credit != Micros::ZERO {
        let first = Transfer {
            member: member.id,
            kind: PostingKind::TopUp,
            amount: credit,
            reason: "first credit".to_owned(),
            reference: None,
        };
        books.operator().transfer(first).await.map_err(refused)?;
    }
    let account = account(books, &member).await?;
    Ok((member, account))
}
