//! Changes of members and teams, each printed with the account as it is then.

use gateway::operator::Error;
use gateway_store::MemberChange;
use ledger::{AccountKind, Budget};
use task_loop::untrusted::printable;

use super::{account, member_json};
use crate::commands::gateway::amount::AmountUnit;
use crate::commands::gateway::budget;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::key::optional;
use crate::commands::gateway::operator_store::OperatorStore;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(in crate::commands::gateway) struct BudgetArgs {
    /// Member name or id, for example `mem_3`
    #[arg(index = 1)]
    member: String,
    /// Amount and period (day, week or month), or `none`
    #[arg(index = 2, value_name = "AMOUNT/PERIOD", allow_hyphen_values = true)]
    budget: String,
    #[command(flatten)]
    unit: AmountUnit,
}

impl BudgetArgs {
    pub(in crate::commands::gateway) fn set(
        &self,
        kind: AccountKind,
        location: &Location,
        session: &Session,
    ) -> Result<(), Diagnostic> {
        let read = |text: &str| budget::read(text, self.unit);
        let wanted: Option<Budget> = optional(Some(&self.budget), read)?.flatten();
        let done = if wanted.is_some() { "Set the budget" } else { "Removed the budget" };
        let change = MemberChange::Budget(wanted);
        change_account(Subject { kind, word: &self.member }, done, &change, location, session)
    }
}

/// The member or team that a command changes.
#[derive(Clone, Copy)]
pub(in crate::commands::gateway) struct Subject<'a> {
    pub(in crate::commands::gateway) kind: AccountKind,
    /// A name or an id.
    pub(in crate::commands::gateway) word: &'a str,
}

pub(in crate::commands::gateway) fn change_account(
    subject: Subject<'_>,
    done: &str,
    change: &MemberChange,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let (member, account) = OperatorStore::with(location, session, async |books| {
        let member = books.account(subject.word, subject.kind).await?;
        let changed = books.operator().change_member(member.id, change).await;
        let member = changed.map_err(|error| match (error, change) {
            (Error::Exists(_), MemberChange::Rename(to)) => {
                Diagnostic::failed(format!("member `{}` exists already", printable(to)))
            }
            (error, _) => error.into(),
        })?;
        let account = account(books, &member).await?;
        Ok((member, account))
    })?;
    if session.output.is_json() {
        return session.output.json(&member_json(&member, &account));
    }
    let name = printable(&member.name);
    session.output.text(format!("{GOOD}{done}{GOOD:#}: {name} ({}).\n", member.id))
}
