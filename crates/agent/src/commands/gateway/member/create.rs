//! `agent gateway member create`.

use gateway::operator::Error;
use ledger::{Micros, PostingKind, Transfer};
use task_loop::untrusted::printable;

use super::{account, member_json};
use crate::commands::gateway::amount::{AmountUnit, both};
use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::{OperatorStore, refused};
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

/// Make a member
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent gateway member create alice\n  \
                        agent gateway member create bob --credit 12.5")]
pub(crate) struct Args {
    /// A name, unique among members
    name: String,
    /// Credit to begin with
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    credit: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let credit = args.credit.as_deref().map(|text| args.unit.read(text)).transpose()?;
    if credit.is_some_and(Micros::is_negative) {
        return Err(Diagnostic::usage("a member cannot begin with less than nothing"));
    }
    let credit = credit.filter(|credit| *credit != Micros::ZERO);
    let (member, account) = OperatorStore::with(location, session, async |books| {
        let made = books.operator().create_member(&args.name).await;
        let member = made.map_err(|error| match error {
            Error::Exists(_) => {
                let name = printable(&args.name);
                Diagnostic::failed(format!("there is a member `{name}` already"))
                    .hint("`agent gateway member top-up` adds credit to a member")
            }
            error => refused(error),
        })?;
        if let Some(credit) = credit {
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
    })?;
    if session.output.is_json() {
        return session.output.json(&member_json(&member, &account));
    }
    let id = member.id.to_string();
    let name = printable(&member.name);
    session.output.text(format!("{GOOD}Made{GOOD:#} member {name} ({id}).\n"))?;
    session.output.text(format!("  balance  {}\n", both(account.balance)))?;
    session.output.note(format!("`agent gateway key create {id} --name NAME` makes a key."));
    Ok(())
}
