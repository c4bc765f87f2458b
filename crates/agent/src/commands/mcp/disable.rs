//! `agent mcp disable`.

use super::switch::{self, Switch};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Disable servers without removing them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent mcp disable files\n  agent mcp disable files docs")]
pub(crate) struct Args {
    /// Server names
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

/// Sets `enabled` in the configuration.
pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    switch::run(&args.names, Switch::Off, session)
}
