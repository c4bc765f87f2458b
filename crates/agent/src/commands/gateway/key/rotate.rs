//! `agent gateway key rotate`.

use gateway::operator::Issued;

use super::secret;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::moment::{period, shown};
use crate::commands::gateway::operator_store::{OperatorStore, refused};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Replace a key with a new one and print it once
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The new key inherits the name, scopes, models, expiry, limits and spend of the old key, which \
stops working after the overlap.

Examples:
  agent gateway key rotate 3fG7aK0pQx2Z
  agent gateway key rotate 3fG7aK0pQx2Z --overlap 24h --quiet")]
pub(crate) struct Args {
    /// Public part of the key, or the whole key
    key: String,
    /// How long the old key stays valid, at most 30d
    #[arg(long, value_name = "PERIOD", default_value = "0s")]
    overlap: String,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let overlap = period(&args.overlap)?;
    let (Issued { key, record }, old) = OperatorStore::with(location, session, async |books| {
        let id = books.key(&args.key).await?.key.id;
        let hasher = secret::hasher(&books.config, &books.store).await?;
        let new = books.operator().rotate_key(&hasher, &id, overlap).await.map_err(refused)?;
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
