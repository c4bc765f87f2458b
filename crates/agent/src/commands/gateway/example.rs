//! `agent gateway example`: a configuration to begin with.

use serde_json::json;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print an example gateway.yaml with comments
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent gateway example > gateway.yaml")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    let example = gateway::config::example();
    if session.output.is_json() {
        return session.output.json(&json!({ "yaml": example }));
    }
    session.output.bytes(example.as_bytes())
}
