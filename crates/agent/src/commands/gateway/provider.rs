//! `agent gateway provider`: where models and results are.

mod drain;
mod list;
mod test;

use clap::Subcommand;

use super::file::Location;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// List, test and drain model and search providers
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Providers are configured in gateway.yaml.

Examples:
  agent gateway provider list
  agent gateway provider test openai"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Test(test::Args),
    Drain(drain::Drain),
    Enable(drain::Enable),
}

pub(crate) fn run(args: Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    match args.command {
        Command::List(args) => list::run(&args, location, session),
        Command::Test(args) => test::run(&args, location, session),
        Command::Drain(args) => drain::drain(&args, location, session),
        Command::Enable(args) => drain::enable(&args, location, session),
    }
}
