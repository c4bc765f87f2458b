//! `create` of members and teams.

use gateway::operator::Error;
use gateway_store::Member;
use ledger::{Account, AccountKind, Micros, PostingKind, Transfer};
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
    #[command(flatten)]
    new: NewAccount,
}

/// The name and the credit of a new member or team.
#[derive(Debug, clap::Args)]
pub(in crate::commands::gateway) struct NewAccount {
    /// Unique name
    name: String,
    /// Initial credit
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    credit: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    args.new.create(AccountKind::Member, location, session)
}

impl NewAccount {
    pub(in crate::commands::gateway) fn create(
        &self,
        kind: AccountKind,
        location: &Location,
        session: &Session,
    ) -> Result<(), Diagnostic> {
        let credit = self.credit.as_deref().map(|text| self.unit.read(text)).transpose()?;
        if credit.is_some_and(Micros::is_negative) {
            return Err(Diagnostic::usage("the initial credit must not be negative"));
        }
        let credit = credit.unwrap_or(Micros::ZERO);
        let (member, account) = OperatorStore::with(location, session, async |books| {
            create(books, kind, &self.name, credit).await
        })?;
        if session.output.is_json() {
            return session.output.json(&member_json(&member, &account));
        }
        let (id, noun) = (member.id.to_string(), kind.as_str());
        let name = printable(&member.name);
        session.output.text(format!("{GOOD}Created{GOOD:#} {noun} {name} ({id}).\n"))?;
        session.output.text(format!("  balance  {}\n", in_credits(account.balance)))?;
        session.output.note(match kind {
            AccountKind::Member => {
                format!("Create a key with `agent gateway key create {name} --name NAME`.")
            }
            _ => format!("Add members with `agent gateway team join {name} MEMBER`."),
        });
        Ok(())
    }
}

/// Creates a member or a team with credit.
pub(in crate::commands::gateway) async fn create(
    books: &OperatorStore,
    kind: AccountKind,
    name: &str,
    credit: Micros,
) -> Result<(Member, Account), Diagnostic> {
    let made = match kind {
        AccountKind::Member => books.operator().create_member(name).await,
        _ => books.operator().create_team(name).await,
    };
    let member = made.map_err(|error| match error {
        Error::Exists(_) if kind == AccountKind::Member => {
            Diagnostic::failed(format!("member `{}` exists already", printable(name)))
                .hint("add credit with `agent gateway member top-up`")
        }
        Error::Exists(_) => {
            let message = format!("a team or member `{}` exists already", printable(name));
            Diagnostic::failed(message).hint("names of teams and members are unique")
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
