//! `agent up`: the member service on this machine.

use crate::diagnostic::Diagnostic;

/// Start the member service on this machine (not there yet)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Says what it will do; nothing pretends.
pub(crate) fn run(_: &Args) -> Result<(), Diagnostic> {
    Err(Diagnostic::failed(
        "`agent up` will start the member service on this machine; this version does not have it yet",
    ))
}
