//! `agent gateway key create`.

use gateway::operator::{Issued, KeyOrder};
use gateway_store::Scope;
use task_loop::untrusted::printable;

use super::options::KeyOptions;
use super::secret;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::{OperatorStore, refused};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Create a key and print it once
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The key goes to stdout; messages go to stderr. Omitted limits come from `limits.new_keys` in \
gateway.yaml.

Examples:
  agent gateway key create alice --name laptop
  agent gateway key create alice --name ci --scopes models,chat --expires 30d --spend-limit 5 --quiet
  agent gateway key create alice --name app --budget 2/day")]
pub(crate) struct Args {
    /// Member name or id, for example `mem_3`
    member: String,
    /// Name of the key
    #[arg(long)]
    name: String,
    #[command(flatten)]
    given: KeyOptions,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let scopes = args.given.scopes()?.unwrap_or_else(|| Scope::ALL.to_vec());
    let expires_at = args.given.expires(session)?.flatten();
    let Issued { key, record } = OperatorStore::with(location, session, async |books| {
        let order = KeyOrder {
            member: books.member(&args.member).await?.id,
            name: args.name.clone(),
            scopes,
            models: args.given.models(&books.config, session).flatten(),
            expires_at,
            limits: args.given.limits()?.applied(books.config.limits.new_keys.limits()),
        };
        let hasher = secret::hasher(&books.config, &books.store).await?;
        books.operator().create_key(&hasher, order).await.map_err(refused)
    })?;
    if !session.output.is_json() {
        let (name, member) = (printable(&record.key.name), printable(&record.member_name));
        session.output.note(format!("Created key `{name}` for {member}: {}", record.key.id));
    }
    secret::show(&key, &record, session)
}
