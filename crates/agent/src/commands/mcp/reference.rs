//! `agent mcp reference`: every key of a server's entry.

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print the reference of server settings as Markdown
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  agent mcp reference")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    session.output.markdown(&mcp_client::config::page())
}
