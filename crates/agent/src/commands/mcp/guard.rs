//! `agent mcp guard`: the process that ends servers when the one that started them was killed.

use std::io;

/// End what a killed agent left behind; started by the agent itself
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    /// Whose servers.
    owner: String,
}

pub(crate) fn run(args: &Args) {
    mcp_client::guardian::run(io::stdin().lock(), &args.owner);
}
