//! `agent gateway`: the member service and everything an operator does with it.

mod amount;
mod audit;
mod backup;
mod check;
mod downloads;
mod example;
mod file;
mod key;
mod ledger;
mod member;
mod migrate;
mod moment;
mod operator_store;
mod provider;
mod reference;
mod restore;
mod schema;
mod serve;
mod usage;

use clap::Subcommand;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

pub(super) use self::amount::both;
pub(super) use self::file::{Location, problem};
pub(super) use self::key::secret;
pub(super) use self::migrate::bring_up_to_date;
pub(super) use self::moment::now;
pub(super) use self::operator_store::{actor, trouble};
pub(super) use self::serve::{address, ready, runtime, unless_stopped, until_stopped};

/// Run the member service, look after its members, keys and money
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "The service is configured by gateway.yaml; `agent gateway example` prints one to begin \
                  with. Members, keys and money can be changed while the service runs.\n\n\
                  Examples:\n  agent gateway migrate\n  agent gateway member create alice --credit 10\n  \
                  agent gateway key create alice --name laptop\n  agent gateway serve"
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
    Serve(serve::Args),
    Check(check::Args),
    Migrate(migrate::Args),
    Member(member::Args),
    Key(key::Args),
    Ledger(ledger::Args),
    Usage(usage::Args),
    Provider(provider::Args),
    Downloads(downloads::Args),
    Audit(audit::Args),
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
        Gateway::Serve(args) => serve::run(&args, &location, session),
        Gateway::Check(args) => check::run(&args, &location, session),
        Gateway::Migrate(args) => migrate::run(&args, &location, session),
        Gateway::Member(args) => member::run(args, &location, session),
        Gateway::Key(args) => key::run(args, &location, session),
        Gateway::Ledger(args) => ledger::run(args, &location, session),
        Gateway::Usage(args) => usage::run(&args, &location, session),
        Gateway::Provider(args) => provider::run(args, &location, session),
        Gateway::Downloads(args) => downloads::run(args, &location, session),
        Gateway::Audit(args) => audit::run(&args, &location, session),
        Gateway::Backup(args) => backup::run(&args, &location, session),
        Gateway::Restore(args) => restore::run(&args, &location, session),
        Gateway::Example(args) => example::run(&args, session),
        Gateway::Schema(args) => schema::run(&args, session),
        Gateway::Reference(args) => reference::run(&args, session),
    }
}
