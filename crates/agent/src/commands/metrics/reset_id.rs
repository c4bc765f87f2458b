//! `agent metrics reset-id`: a new id for this installation.

use serde_json::json;

use super::needed_store;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::store_error::store_trouble;

/// Replace the installation id with a new random one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent metrics reset-id")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    let mut store = needed_store(session)?;
    let folder = store.folder().clone();
    let install_id = store.reset_id().map_err(|error| store_trouble(&folder, &error))?;
    if session.output.is_json() {
        return session.output.json(&json!({ "install_id": install_id }));
    }
    session.output.text(format!("{install_id}\n"))
}
