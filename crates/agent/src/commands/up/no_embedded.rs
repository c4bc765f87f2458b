//! Replaces the embedded model in builds without it.

use gateway::config::{Config, Provider};

use super::Download;
use crate::commands::gateway::DetectedServer;
use crate::diagnostic::Result;
use crate::session::Session;

#[expect(clippy::unused_async, reason = "where there is a model it may be fetched")]
pub(super) async fn provide(
    _: &mut Config,
    _: &[DetectedServer],
    _: Download,
    _: &Session,
) -> Result<Option<String>> {
    Ok(None)
}

pub(super) fn files(_: &Provider) -> Option<Vec<String>> {
    None
}

pub(super) fn how_to_fetch() -> String {
    String::new()
}
