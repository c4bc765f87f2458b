//! `agent gateway reference`: every key of `gateway.yaml`.

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print the reference of gateway.yaml as Markdown
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = "Examples:\n  agent gateway reference")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    session.output.markdown(&gateway::config::reference())
}
