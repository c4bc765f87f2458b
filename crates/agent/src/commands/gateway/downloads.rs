//! `agent gateway downloads`: files that everybody may download.

mod key;
mod publish;

use clap::Subcommand;
use gateway::config::Downloads;

use super::file::Location;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Sign and publish files for public download
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
The service offers published files under /v1/downloads if gateway.yaml has a `downloads` section.

Examples:
  agent gateway downloads key
  agent gateway downloads publish --version 1.0.0 dist/*"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Key(key::Args),
    Publish(publish::Args),
}

pub(crate) fn run(args: Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    match args.command {
        Command::Key(args) => key::run(&args, location, session),
        Command::Publish(args) => publish::run(&args, location, session),
    }
}

fn configured(location: &Location, session: &Session) -> Result<Downloads, Diagnostic> {
    location.load(session)?.downloads.ok_or_else(|| {
        Diagnostic::configuration("downloads are not configured")
            .hint("add `downloads: {}` to the configuration of the service")
    })
}
