//! `agent mcp secrets move`: moves secrets from files to the keychain, or back.

use std::sync::Arc;

use clap::Subcommand;
use mcp_client::host::{Host, IgnoreEvents, SecretStore};
use mcp_client::oauth::move_tokens;
use mcp_client::redact::Redactor;
use serde_json::json;

use crate::config::secrets::{SecretPlace, SecretsFile, keychain, keychain_problem};
use crate::config::{self, lock};
use crate::diagnostic::{ErrorContext, Result};
use crate::output::GOOD;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::counted;

/// Manage where secrets are stored
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum Command {
    Move(Args),
}

/// Move secrets to the keychain or to files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Moves the variables of `.env` and the tokens and client registrations of all servers, and sets \
`secrets.store` in config.yaml. A move to the keychain deletes backups of damaged token files.

Examples:
  agent mcp secrets move --to keychain
  agent mcp secrets move --to file")]
pub(crate) struct Args {
    /// Where to move them
    #[arg(long, value_name = "PLACE")]
    to: SecretPlace,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let home = session.home()?;
    let (config, path) = (home.config(), home.env_file());
    let _lock = lock::take(&config)?;
    let edited = config::edited(&config, ["secrets", "store", args.to.as_str()])?;
    let other = match args.to {
        SecretPlace::File => SecretPlace::Keychain,
        SecretPlace::Keychain => SecretPlace::File,
    };
    // Nothing is removed before its copy and the configuration are written.
    let source = SecretsFile::open(&path, other)?;
    let mut target = SecretsFile::open(&path, args.to)?;
    target.take_all(&source)?;
    target.write()?;
    let redactor = Arc::new(Redactor::default());
    let host = crate::mcp::host(session, redactor, Arc::new(IgnoreEvents))?;
    let host = Host { token_place: args.to.into(), ..host };
    let (tokens, unreadable) =
        block_on(async { move_tokens(&host).await.or_failed("cannot move the tokens") })?;
    config::write(&config, &edited)?;
    match other {
        SecretPlace::Keychain => {
            keychain().remove(&path).map_err(|error| keychain_problem(&error))?;
        }
        SecretPlace::File => drop(config::remove_file(&path)?),
    }
    let variables = source.variables.len();
    if session.output.is_json() {
        return session.output.json(&json!({
            "to": args.to.as_str(),
            "variables": variables,
            "token_files": tokens,
            "not_moved": unreadable,
        }));
    }
    for problem in unreadable {
        session.output.warn(format!("not moved: {problem}"));
    }
    let (variables, tokens) = (counted(variables, "variable"), counted(tokens, "token file"));
    let to = target.location();
    session.output.text(format!("{GOOD}Moved{GOOD:#} {variables} and {tokens} to {to}.\n"))
}
