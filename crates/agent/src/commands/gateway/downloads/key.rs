//! `agent gateway downloads key`: what downloads are signed with.

use gateway::downloads::{make_key, show_key};
use serde_json::json;

use crate::commands::gateway::file::{Location, problem};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Create the signing key for downloads
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The private key is written to `downloads.key_file`, readable only by its owner; keep a copy in a \
safe place. Clients verify downloads with the public key.

Examples:
  agent gateway downloads key
  agent gateway downloads key --show")]
pub(crate) struct Args {
    /// Print the public key of the existing signing key
    #[arg(long)]
    show: bool,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let path = super::configured(location, session)?.key_file;
    let public = if args.show { show_key(&path) } else { make_key(&path) };
    let public = public.map_err(problem)?;
    if session.output.is_json() {
        return session.output.json(&json!({ "file": path, "public_key": public }));
    }
    session.output.text(format!("{public}\n"))
}
