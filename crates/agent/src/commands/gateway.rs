//! `agent gateway`: the member service and everything an operator does with it.

mod alerts;
mod amount;
mod audit;
mod backup;
mod budget;
mod check;
mod downloads;
mod example;
mod file;
mod first_config;
mod import;
mod init;
mod key;
mod ledger;
mod local_servers;
mod member;
mod migrate;
mod moment;
mod operator_store;
mod provider;
mod reference;
mod reload;
mod restore;
mod schema;
mod serve;
mod team;
mod usage;

use clap::Subcommand;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

pub(super) use self::amount::in_credits;
pub(super) use self::file::{Location, problem};
pub(super) use self::first_config::{FirstConfig, SNIPPET, write_if_missing};
pub(super) use self::key::secret;
pub(super) use self::local_servers::{DetectedServer, Server, candidates, look, merge, named};
pub(super) use self::migrate::bring_up_to_date;
pub(super) use self::moment::now;
pub(super) use self::operator_store::{actor, refused, trouble};
pub(super) use self::serve::{Hangup, address, ready, runtime, unless_stopped, until_stopped};

/// Run the member service and manage members, keys and credit
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
`agent gateway init` creates gateway.yaml, a first member and a key. Members, keys and credit \
can be changed while the service runs.

Examples:
  agent gateway init --member alice --credit 10
  agent gateway serve
  agent gateway member create bob --credit 10
  agent gateway key create bob --name laptop"
)]
pub(crate) struct Args {
    #[command(flatten)]
    location: Location,
    #[command(subcommand)]
    command: Gateway,
}

/// What can be done with the service.
#[derive(Debug, Subcommand)]
enum Gateway {
    Init(init::Args),
    Serve(serve::Args),
    Check(check::Args),
    Reload(reload::Args),
    Import(import::Args),
    Migrate(migrate::Args),
    Member(member::Args),
    Team(team::Args),
    Key(key::Args),
    Ledger(ledger::Args),
    Usage(usage::Args),
    Provider(provider::Args),
    Downloads(downloads::Args),
    Audit(audit::Args),
    Alerts(alerts::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Example(example::Args),
    Schema(schema::Args),
    Reference(reference::Args),
}

impl Args {
    pub(super) fn is_serve(&self) -> bool {
        matches!(self.command, Gateway::Serve(_))
    }
}

pub(crate) fn run(args: Args, session: &Session) -> Result<(), Diagnostic> {
    let Args { location, command } = args;
    match command {
        Gateway::Init(args) => init::run(&args, &location, session),
        Gateway::Serve(args) => serve::run(&args, &location, session),
        Gateway::Check(args) => check::run(&args, &location, session),
        Gateway::Reload(args) => reload::run(&args, &location, session),
        Gateway::Import(args) => import::run(&args, session),
        Gateway::Migrate(args) => migrate::run(&args, &location, session),
        Gateway::Member(args) => member::run(args, &location, session),
        Gateway::Team(args) => team::run(args, &location, session),
        Gateway::Key(args) => key::run(args, &location, session),
        Gateway::Ledger(args) => ledger::run(args, &location, session),
        Gateway::Usage(args) => usage::run(&args, &location, session),
        Gateway::Provider(args) => provider::run(args, &location, session),
        Gateway::Downloads(args) => downloads::run(args, &location, session),
        Gateway::Audit(args) => audit::run(&args, &location, session),
        Gateway::Alerts(args) => alerts::run(&args, &location, session),
        Gateway::Backup(args) => backup::run(&args, &location, session),
        Gateway::Restore(args) => restore::run(&args, &location, session),
        Gateway::Example(args) => example::run(&args, session),
        Gateway::Schema(args) => schema::run(&args, session),
        Gateway::Reference(args) => reference::run(&args, session),
    }
}
