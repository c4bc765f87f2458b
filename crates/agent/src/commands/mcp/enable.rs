//! `agent mcp enable`.

use super::switch::{self, Switch};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Enable disabled servers
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent mcp enable files\n  agent mcp enable files docs")]
pub(crate) struct Args {
    /// Server names
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

/// Sets `enabled` in the configuration.
pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    switch::run(&args.names, Switch::On, session)
}
