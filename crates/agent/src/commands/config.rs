//! `agent config`: the configuration of the profile.

mod reference;
mod schema;

use clap::Subcommand;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print the JSON Schema of config.yaml
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  agent config schema"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Config,
}

#[derive(Debug, Subcommand)]
enum Config {
    Reference(reference::Args),
    Schema(schema::Args),
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    match &args.command {
        Config::Reference(args) => reference::run(args, session),
        Config::Schema(args) => schema::run(args, session),
    }
}
