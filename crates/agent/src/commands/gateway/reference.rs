//! `agent gateway reference`: every key of `gateway.yaml`.

use serde_json::json;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print every key of gateway.yaml, with its type, default and meaning, as Markdown
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = "Examples:\n  agent gateway reference")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    let page = gateway::config::reference();
    if session.output.is_json() {
        return session.output.json(&json!({ "markdown": page }));
    }
    session.output.text(page)
}
