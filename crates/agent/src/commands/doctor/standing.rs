//! What this program does beside its work: metrics, and updates of itself.

use crate::commands::metrics::status;
use crate::commands::update::channel::{Channel, ChannelArgs};
use crate::finding::Finding;
use crate::session::Session;

/// Whether something is recorded, and how the store is.
pub(super) fn metrics(session: &Session) -> Finding {
    const AREA: &str = "metrics";
    match status::health(session) {
        Ok((line, None)) => Finding::good(line).of(AREA),
        Ok((_, Some(trouble))) | Err(trouble) => Finding::from(trouble).of(AREA),
    }
}

pub(super) fn updates(session: &Session) -> Finding {
    const AREA: &str = "updates";
    match Channel::find(session, ChannelArgs::default()) {
        Ok(Channel { key: Some(key), .. }) => {
            Finding::good(format!("verified with the key {}", key.place)).of(AREA)
        }
        Ok(Channel { key: None, .. }) => Finding::good("off: no signing key is configured")
            .of(AREA)
            .hint("set `update.public_key` in config.yaml"),
        Err(diagnostic) => Finding::from(diagnostic).of(AREA),
    }
}
