//! `agent gateway provider`: where the models are.

mod list;
mod test;

use clap::Subcommand;
use gateway::config::Kind;

use super::file::Location;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Providers of models: list and test them
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Providers are configured in gateway.yaml.\n\n\
                  Examples:\n  agent gateway provider list\n  agent gateway provider test openai"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Test(test::Args),
}

/// Does it.
pub(crate) fn run(args: Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    match args.command {
        Command::List(args) => list::run(&args, location, session),
        Command::Test(args) => test::run(&args, location, session),
    }
}

/// What it speaks, in a word.
pub(super) const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::OpenAi => "openai",
        Kind::Anthropic => "anthropic",
        Kind::Espeak => "espeak",
    }
}
