//! `agent mcp call`.

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// call
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, _: &Session) -> Result<(), Diagnostic> {
    Err(Diagnostic::failed("not built"))
}
