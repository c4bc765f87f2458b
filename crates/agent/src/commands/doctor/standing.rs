//! What this program does beside its work: metrics, and updates of itself.

use super::report::Check;
use crate::commands::metrics::status;
use crate::commands::update::channel::{Channel, ChannelArgs};
use crate::session::Session;

/// Whether something is recorded, and how the store is.
pub(super) fn metrics(session: &Session) -> Check {
    const AREA: &str = "metrics";
    match status::health(session) {
        Ok((line, None)) => Check::ok(AREA, line),
        Ok((_, Some(trouble))) | Err(trouble) => Check::of(AREA, trouble),
    }
}

/// Whether updates can be verified.
pub(super) fn updates(session: &Session) -> Check {
    const AREA: &str = "updates";
    match Channel::find(session, ChannelArgs::default()) {
        Ok(Channel { key: Some(key), .. }) => {
            Check::ok(AREA, format!("they are verified with the key that is {}", key.place))
        }
        Ok(Channel { key: None, .. }) => {
            Check::ok(AREA, "there is no key to verify them with, so that none are installed")
                .hint("`update.public_key` in config.yaml names one")
        }
        Err(diagnostic) => Check::of(AREA, diagnostic),
    }
}
