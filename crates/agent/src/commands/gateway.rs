//! `agent gateway`: the member service and its operator commands.

mod account;
mod alerts;
mod amount;
mod audit;
mod backup;
mod check;
mod downloads;
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
mod reload;
mod serve;
mod team;
mod usage;

use clap::Subcommand;
use serde_json::json;

use self::operator_store::Context;
use crate::diagnostic::Result;
use crate::session::Session;

pub(super) use self::amount::in_credits;
pub(super) use self::file::Location;
pub(super) use self::first_config::{FirstConfig, SNIPPET, write_if_missing};
#[cfg(feature = "local-model")]
pub(super) use self::local_servers::as_if_configured;
pub(super) use self::local_servers::{DetectedServer, Server, candidates, detect, merge, named};
pub(super) use self::migrate::bring_up_to_date;
pub(super) use self::moment::now;
pub(super) use self::operator_store::{actor, key_hasher};
pub(super) use self::serve::{Hangup, address, ready, serve};

/// Run the member service and manage members, keys and credit
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`agent gateway init` creates gateway.yaml, a first member and a key. Members, keys and credit \
can be changed while the service runs.

Examples:
  agent gateway init --member alice --credit 10
  agent gateway serve
  agent gateway member create bob --credit 10
  agent gateway key create bob --name laptop")]
pub(crate) struct Args {
    #[command(flatten)]
    location: Location,
    #[command(subcommand)]
    command: Gateway,
}

#[derive(Debug, Subcommand)]
enum Gateway {
    Init(init::Args),
    Serve(serve::Args),
    Check(check::Args),
    /// Reload the configuration of the running service
    #[command(after_help = "\
Checks the file, then asks every process that serves from its database to read its own file again. \
Running requests finish with the old configuration. A file with an error, or with a changed key \
that needs a restart (such as `listen` or `database`), changes nothing. SIGHUP, POST \
/admin/v1/reload and the page Configuration of the console do the same.

Exit codes: 0 all processes use the new configuration, 1 no process is running or one did not \
answer, 3 the configuration is invalid (all problems are listed).

Examples:
  agent gateway reload
  agent gateway reload --config /etc/agent/gateway.yaml")]
    Reload,
    #[command(subcommand)]
    Import(import::Source),
    Migrate(migrate::Args),
    #[command(subcommand)]
    Member(member::Command),
    #[command(subcommand)]
    Team(team::Command),
    #[command(subcommand)]
    Key(key::Command),
    #[command(subcommand)]
    Ledger(ledger::Command),
    Usage(usage::Args),
    #[command(subcommand)]
    Provider(provider::Command),
    #[command(subcommand)]
    Downloads(downloads::Command),
    Audit(audit::Args),
    #[command(subcommand)]
    Alerts(alerts::Command),
    Backup(backup::Args),
    Restore(backup::RestoreArgs),
    /// Print an example gateway.yaml with comments
    #[command(after_help = "Examples:\n  agent gateway example > gateway.yaml")]
    Example,
    /// Print the JSON Schema of gateway.yaml for editors
    #[command(after_help = "\
Editors with the YAML language server validate and complete gateway.yaml if its first line is `# \
yaml-language-server: $schema=gateway.schema.json`.

Examples:
  agent gateway schema > gateway.schema.json")]
    Schema,
    /// Print the reference of gateway.yaml as Markdown
    #[command(hide = true, after_help = "Examples:\n  agent gateway reference")]
    Reference,
}

impl Args {
    pub(super) fn is_serve(&self) -> bool {
        matches!(self.command, Gateway::Serve(_))
    }
}

pub(crate) fn run(args: Args, session: &Session) -> Result {
    let Args { location, command } = args;
    let context = Context { location: &location, session };
    match command {
        Gateway::Init(args) => init::run(&args, context),
        Gateway::Serve(args) => serve::run(&args, &location, session),
        Gateway::Check(args) => check::run(&args, context),
        Gateway::Reload => reload::run(context),
        Gateway::Import(args) => import::run(&args, session),
        Gateway::Migrate(args) => migrate::run(&args, context),
        Gateway::Member(args) => member::run(args, context),
        Gateway::Team(args) => team::run(args, context),
        Gateway::Key(args) => key::run(args, context),
        Gateway::Ledger(args) => ledger::run(args, context),
        Gateway::Usage(args) => usage::run(&args, context),
        Gateway::Provider(args) => provider::run(args, context),
        Gateway::Downloads(args) => downloads::run(&args, context),
        Gateway::Audit(args) => audit::run(&args, context),
        Gateway::Alerts(args) => alerts::run(&args, context),
        Gateway::Backup(args) => backup::run(&args, context),
        Gateway::Restore(args) => backup::restore(&args, context),
        Gateway::Example => {
            let example = gateway::config::example();
            context.output.document(&json!({ "yaml": example }), example)
        }
        Gateway::Schema => {
            session.output.json(&gateway::config::schema().published("gateway.yaml"))
        }
        Gateway::Reference => session.output.markdown(&gateway::config::reference()),
    }
}
