//! `agent gateway usage`: usage totals of members.

use gateway::usage::UsageOrder;
use ledger::AccountKind;

use super::moment::now;
use super::operator_store::Context;
use crate::commands::usage::{UsageOptions, print};
use crate::diagnostic::Result;

/// Show the usage of members: requests, tokens and credits
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Group by day, member, team, key, operation, model, provider or several of these. Only answered requests count. Amounts are credits; --csv and --json \
                        have micro-credits.\n\n\
                        Examples:\n  agent gateway usage\n  \
                        agent gateway usage --by member --from 2026-01-01 --limit 20\n  \
                        agent gateway usage --member alice --by day,model --csv > alice.csv"
)]
pub(crate) struct Args {
    /// Only requests of this member: name or id, for example `mem_3`
    #[arg(long)]
    member: Option<String>,
    /// Only requests paid by this team: name or id, for example `mem_3`
    #[arg(long)]
    team: Option<String>,
    #[command(flatten)]
    options: UsageOptions,
}

pub(crate) fn run(args: &Args, context: Context<'_>) -> Result {
    let usage = context.with(async |books| {
        let member = match &args.member {
            Some(word) => Some(books.member(word).await?.id),
            None => None,
        };
        let team = match &args.team {
            Some(word) => Some(books.account(word, AccountKind::Team).await?.id),
            None => None,
        };
        let UsageOptions { from, to, by, limit, .. } = args.options.clone();
        let order = UsageOrder { member, team, from, to, by, limit };
        Ok(order.answer(&books.store, now(&context)).await?)
    })?;
    print(&usage, &args.options, &context.output)
}
