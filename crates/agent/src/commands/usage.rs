//! `agent usage`: usage totals of the account.

use form_urlencoded::Serializer;
use wire::usage::UsageList;

use crate::diagnostic::Result;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::runtime::block_on;
use crate::session::Session;
use crate::usage_table::{UsageOptions, print};

/// Show your usage: requests, tokens and credits
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Group by day, key, operation, model, provider or several of these. Only answered \
                        requests count. Amounts are credits; --csv and --json have micro-credits.\n\n\
                        Examples:\n  agent usage\n  agent usage --by model --from 2026-01-01\n  \
                        agent usage --by day,key --csv > usage.csv"
)]
pub(crate) struct Args {
    #[command(flatten)]
    options: UsageOptions,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let service = RetryingMember::find(session, args.waiting)?;
    let UsageOptions { from, to, by, limit, .. } = &args.options;
    let limit = limit.map(|limit| limit.to_string());
    let parameters = [("from", from), ("to", to), ("by", by), ("limit", &limit)];
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let answer = block_on(service.get(&format!("/me/usage?{}", query.finish())))?;
    let Some(usage) = service.read_or_print::<UsageList>(&answer)? else { return Ok(()) };
    print(&usage, &args.options, &session.output)
}
