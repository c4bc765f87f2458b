//! `agent metrics package`: makes packages now.

use serde_json::json;
use usage_metrics::store::PackageScope;

use super::{decision, needed_store};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::store_error::store_trouble;

/// Write packages of all counters to the outbox folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Completed days are packaged automatically.

Examples:
  agent metrics package
  agent metrics package --json | jq -r '.packages[].file'")]
pub(crate) struct Args {}

/// Makes them, writes their files, and forgets what is old.
pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    let (config, _) = decision(session)?;
    let mut store = needed_store(session)?;
    let folder = store.folder().clone();
    let now = session.clock.now();
    let trouble = |error| store_trouble(&folder, &error);
    let made = store.package(PackageScope::All, now).map_err(trouble)?;
    let written = store.write_outbox(now).map_err(trouble)?;
    let pruned = store.prune(now, config.retention_days).map_err(trouble)?;
    if session.output.is_json() {
        let packages: Vec<_> = made
            .iter()
            .map(|package| {
                json!({
                    "package_id": package.package_id,
                    "day": package.day.to_string(),
                    "file": folder.package(&package.package_id),
                    "bytes": package.bytes.len(),
                })
            })
            .collect();
        return session.output.json(&json!({
            "packages": packages,
            "files_written": written,
            "packages_forgotten": pruned.packages,
        }));
    }
    for package in &made {
        let path = folder.package(&package.package_id);
        session.output.text(format!("{} {}\n", package.day, path.display()))?;
    }
    if made.is_empty() {
        session.output.note("nothing was counted since the last package");
    }
    if written > made.len() {
        session.output.note(format!("{} missing files were written again", written - made.len()));
    }
    if pruned.packages > 0 {
        session.output.note(format!(
            "{} packages older than {} days were removed",
            pruned.packages, config.retention_days
        ));
    }
    Ok(())
}
