//! `agent media`: images and speech of the member service.

mod download;

use clap::Subcommand;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Images and speech of the member service
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  agent media download run_0123456789abcdef0123456789abcdef"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Download(download::Args),
}

/// Does it.
pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    match &args.command {
        Command::Download(args) => download::run(args, session),
    }
}
