//! `agent gateway key create`.

use gateway::config::NewKeys;
use gateway::operator::{Issued, KeyOrder};
use gateway_store::Scope;
use ledger::{Limits, Micros};
use task_loop::untrusted::printable;

use super::options::KeyOptions;
use super::secret;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::moment::{period, shown};
use crate::commands::gateway::operator_store::OperatorStore;
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
            limits: args.given.limits()?.applied(defaults(&books.config.limits.new_keys)),
        };
        let hasher = secret::hasher(&books.config, &books.store).await?;
        Ok(books.operator().create_key(&hasher, order).await?)
    })?;
    if !session.output.is_json() {
        let (name, member) = (printable(&record.key.name), printable(&record.member_name));
        session.output.note(format!("Created key `{name}` for {member}: {}", record.key.id));
    }
    secret::show(&key, &record, session)
}

pub(crate) fn defaults(new_keys: &NewKeys) -> Limits {
    Limits {
        spend: new_keys.spend_micros.map(Micros::new),
        requests_per_minute: new_keys.requests_per_minute,
        concurrency: new_keys.concurrency,
        budget: None,
    }
}

/// Replace a key with a new one and print it once
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The new key inherits the name, scopes, models, expiry, limits and spend of the old key, which \
stops working after the overlap.

Examples:
  agent gateway key rotate 3fG7aK0pQx2Z
  agent gateway key rotate 3fG7aK0pQx2Z --overlap 24h --quiet")]
pub(crate) struct Rotate {
    /// Public part of the key, or the whole key
    key: String,
    /// How long the old key stays valid, at most 30d
    #[arg(long, value_name = "PERIOD", default_value = "0s")]
    overlap: String,
}

pub(crate) fn rotate(
    args: &Rotate,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let overlap = period(&args.overlap)?;
    let (Issued { key, record }, old) = OperatorStore::with(location, session, async |books| {
        let id = books.key(&args.key).await?.key.id;
        let hasher = secret::hasher(&books.config, &books.store).await?;
        let new = books.operator().rotate_key(&hasher, &id, overlap).await?;
        Ok((new, books.key(&id).await?))
    })?;
    if !session.output.is_json() {
        let until = old.key.expires_at.map(shown).unwrap_or_default();
        session.output.note(format!(
            "Replaced key {} with {}; the old one is valid until {until}.",
            old.key.id, record.key.id
        ));
    }
    secret::show(&key, &record, session)
}
