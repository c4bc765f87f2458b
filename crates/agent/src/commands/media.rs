//! `agent media`: images and speech.

mod artifact;
mod download;
mod list;
mod preview;
mod run;

use clap::Subcommand;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Create images and speech
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  agent media list
  agent media run openai/gpt-image-1 \"A lighthouse at dusk\" --output lighthouse.png
  agent media download run_0123456789abcdef0123456789abcdef"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Run(run::Args),
    Download(download::Args),
}

pub(crate) fn run(args: Args, session: &Session) -> Result<(), Diagnostic> {
    match args.command {
        Command::List(args) => list::run(&args, session),
        Command::Run(args) => run::run(&args, session),
        Command::Download(args) => download::run(&args, session),
    }
}

fn is_media(capability: &str) -> bool {
    matches!(capability, "image" | "speech")
}
