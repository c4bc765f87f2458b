//! `agent gateway key rotate`.

use gateway_store::Error;

use super::secret;
use crate::commands::gateway::books::{Books, trouble};
use crate::commands::gateway::file::Location;
use crate::commands::gateway::moment::{period, shown};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Make a new key in the place of an old one and show it once
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The new key has the name, scopes, models, end, limits and spend of the old one, which \
                        is worth nothing after the overlap.\n\n\
                        Examples:\n  agent gateway key rotate 3fG7aK0pQx2Z\n  \
                        agent gateway key rotate 3fG7aK0pQx2Z --overlap 24h --quiet"
)]
pub(crate) struct Args {
    /// The public part of a key, or a whole key
    key: String,
    /// How long the old key is still good
    #[arg(long, value_name = "PERIOD", default_value = "0s")]
    overlap: String,
}

/// Makes the new key, shows it.
pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let overlap = i64::try_from(period(&args.overlap)?.as_micros()).unwrap_or(i64::MAX);
    let (key, record, old) = Books::with(location, session, async |books| {
        let old = books.key(&args.key).await?;
        let hasher = secret::hasher(&books.config, &books.store).await?;
        let key = secret::new_key()?;
        let new = (key.public_id(), hasher.hash(&key));
        let made = books.store.rotate_key(&old.key.id, new, overlap, &books.by).await;
        made.map_err(|error| match error {
            Error::Missing(_) => Diagnostic::failed(format!("the key {} was revoked", old.key.id))
                .hint("`agent gateway key create` makes a new one"),
            error => trouble(&error),
        })?;
        let (record, old) = (books.key(key.public_id()).await?, books.key(&old.key.id).await?);
        Ok((key, record, old))
    })?;
    if !session.output.is_json() {
        let until = old.key.expires_at.map(shown).unwrap_or_default();
        session.output.note(format!(
            "Rotated key {} into {}; the old one is good until {until}.",
            old.key.id, record.key.id
        ));
    }
    secret::show(&key, &record, session)
}
