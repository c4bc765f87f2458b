//! `agent gateway ledger`: what was charged and paid, and whether it adds up.

mod check;
mod receipt;
mod statement;

use clap::Subcommand;

use super::file::Location;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Show statements and receipts, and verify the ledger
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  agent gateway ledger statement alice
  agent gateway ledger check"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Statement(statement::Args),
    Receipt(receipt::Args),
    Check(check::Args),
}

pub(crate) fn run(args: Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    match args.command {
        Command::Statement(args) => statement::run(&args, location, session),
        Command::Receipt(args) => receipt::run(&args, location, session),
        Command::Check(args) => check::run(&args, location, session),
    }
}
