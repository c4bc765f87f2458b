//! `agent gateway downloads key`: what downloads are signed with.

use gateway::downloads::{make_key, show_key};
use serde_json::json;

use crate::commands::gateway::file::{Location, problem};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Make the key that downloads are signed with, or show its public part
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The key is written to `downloads.key_file` for its owner alone; keep a copy where \
                        nobody else can read it. The public key is what clients verify downloads \
                        with.\n\n\
                        Examples:\n  agent gateway downloads key\n  agent gateway downloads key --show"
)]
pub(crate) struct Args {
    /// Show the public part of the key that is there
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
