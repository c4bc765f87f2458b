//! `agent gateway downloads publish`: files, and then the signed manifest.

use std::path::PathBuf;

use gateway::downloads::{Publication, publish};
use gateway::rfc3339;

use crate::commands::gateway::file::{Location, problem};
use crate::commands::gateway::moment::now;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

/// How long a manifest is valid unless said otherwise.
const VALID_DAYS: u16 = 90;
const DAY_MICROS: i64 = 86_400_000_000;

/// Publish the files of a version with a signed manifest
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Clients see either the previous files or all new ones. Published files of a version never \
change; more files can be added.

`agent update` rejects an expired manifest. Run the command without files to renew it.

Examples:
  agent gateway downloads publish --version 1.0.0 dist/agent-linux-x86_64
  agent gateway downloads publish --version 1.0.0")]
pub(crate) struct Args {
    /// Version of the files
    #[arg(long)]
    version: String,
    /// Platform, for example linux-x86_64 [default: from the file names]
    #[arg(long)]
    platform: Option<String>,
    /// Days until the manifest expires
    #[arg(long, value_name = "DAYS", default_value_t = VALID_DAYS,
          value_parser = clap::value_parser!(u16).range(1..=3650))]
    valid_days: u16,
    /// Files to publish; without files, sign the published manifest again
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let downloads = super::configured(location, session)?;
    let now = now(session);
    let publication = Publication {
        version: args.version.clone(),
        published_at: rfc3339(now),
        expires_at: rfc3339(now.plus_micros(i64::from(args.valid_days) * DAY_MICROS)),
        files: args.files.clone(),
        platform: args.platform.clone(),
    };
    let manifest = publish(&downloads, &publication).map_err(problem)?;
    if session.output.is_json() {
        return session.output.json(&serde_json::to_value(&manifest).unwrap_or_default());
    }
    let mut text = format!(
        "{GOOD}Published{GOOD:#} {}, valid until {}:\n",
        manifest.version, manifest.expires_at
    );
    for file in &manifest.files {
        text += &format!("  {}  {}  {} bytes\n", file.name, file.platform, file.bytes);
    }
    session.output.text(text)
}
