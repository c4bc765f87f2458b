//! `agent gateway downloads publish`: files, and then the signed manifest.

use std::path::PathBuf;

use gateway::downloads::{Publication, publish};
use gateway::rfc3339;

use crate::commands::gateway::file::{Location, problem};
use crate::commands::gateway::moment::now;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

/// Publish files of a version, with a signed manifest
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Files are copied first and the manifest is replaced last: clients see the files of \
                        before, or all of these. What was published under a version is never changed; \
                        more files may be added to it.\n\n\
                        Examples:\n  agent gateway downloads publish --version 1.0.0 dist/agent-linux-x86_64"
)]
pub(crate) struct Args {
    /// The version that the files are of
    #[arg(long)]
    version: String,
    /// Where they run, such as linux-x86_64; their names say it unless given
    #[arg(long)]
    platform: Option<String>,
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Publishes, tells.
pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let downloads = super::configured(location, session)?;
    let publication = Publication {
        version: args.version.clone(),
        published_at: rfc3339(now(session)),
        files: args.files.clone(),
        platform: args.platform.clone(),
    };
    let manifest = publish(&downloads, &publication).map_err(problem)?;
    if session.output.is_json() {
        return session.output.json(&serde_json::to_value(&manifest).unwrap_or_default());
    }
    let mut text = format!("{GOOD}Published{GOOD:#} {}:\n", manifest.version);
    for file in &manifest.files {
        text += &format!("  {}  {}  {} bytes\n", file.name, file.platform, file.bytes);
    }
    session.output.text(text)
}
