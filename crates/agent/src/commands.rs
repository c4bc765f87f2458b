//! The commands, one file each.

mod chat;
mod completions;
mod gateway;
mod mcp;
mod me;
mod metrics;
mod run;
mod up;

use clap::Subcommand;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// What the program can be told to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::Args),
    Run(run::Args),
    Chat(chat::Args),
    Me(me::Args),
    Gateway(gateway::Args),
    Mcp(mcp::Args),
    Metrics(metrics::Args),
    Completions(completions::Args),
}

/// Does it.
pub(crate) fn run(command: Command, session: &Session) -> Result<(), Diagnostic> {
    match command {
        Command::Up(args) => up::run(&args, session),
        Command::Run(args) => run::run(&args, session),
        Command::Chat(args) => chat::run(&args, session),
        Command::Me(args) => me::run(&args, session),
        Command::Gateway(args) => gateway::run(args, session),
        Command::Mcp(args) => mcp::run(args.command, session),
        Command::Metrics(args) => metrics::run(args.command, session),
        Command::Completions(args) => completions::run(&args, session),
    }
}
