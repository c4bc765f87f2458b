//! `agent metrics show`: the next package, byte for byte.

use usage_metrics::package::Package;
use usage_metrics::store::PackageScope;

use super::needed_store;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::store_error::store_trouble;

/// Print the next package exactly as it would be written
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent metrics show\n  agent metrics show --all")]
pub(crate) struct Args {
    /// Print all packages that would be written now
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let drafts = drafts(session)?;
    let shown = if args.all { drafts.len() } else { drafts.len().min(1) };
    for package in &drafts[..shown] {
        session.output.bytes(&package.to_bytes())?;
    }
    match drafts.len() {
        0 => session.output.note("nothing was counted since the last package"),
        1 => {}
        count if !args.all => session
            .output
            .note(format!("this is the first of {count} packages; print all of them with `--all`")),
        _ => {}
    }
    Ok(())
}

pub(crate) fn drafts(session: &Session) -> Result<Vec<Package>, Diagnostic> {
    let store = needed_store(session)?;
    store.drafts(PackageScope::All).map_err(|error| store_trouble(store.folder(), &error))
}
