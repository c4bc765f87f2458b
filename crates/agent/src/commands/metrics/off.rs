//! `agent metrics off`: a person turns recording off, and can have everything removed.

use serde_json::json;
use usage_metrics::consent::Mode;

use super::{existing_store, folder};
use crate::config::{self, MetricsConfig};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::store_error::store_trouble;

/// Stop recording
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent metrics off\n  agent metrics off --purge")]
pub(crate) struct Args {
    /// Also delete counters, packages and the installation id
    #[arg(long)]
    purge: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let (folder, path) = (folder(session)?, session.home()?.config());
    let existed = folder.exists();
    // What a person takes back is taken back first, whatever else is wrong.
    let told = stop_recorders(session);
    if args.purge {
        folder.purge().map_err(|error| store_trouble(&folder, &error))?;
    } else if let Err(diagnostic) = told {
        session.output.note("running processes keep recording until they exit:");
        session.output.note(diagnostic.message.unwrap_or_default());
    }
    // Without a configuration recording is off already; no file is made to say so.
    if MetricsConfig::read(&*session.config()?)?.mode().is_some() {
        config::set_metrics_mode(&path, Mode::Off)?;
    }
    let purged = args.purge && existed;
    if session.output.is_json() {
        return session.output.json(&json!({
            "mode": Mode::Off.text(),
            "purged": purged,
            "folder": folder.root(),
        }));
    }
    let root = folder.root().display();
    session.output.text(match (args.purge, existed) {
        (true, true) => format!("Recording is off. Everything in {root} was removed.\n"),
        (true, false) => "Recording is off. Nothing to remove.\n".to_owned(),
        (false, true) => format!(
            "Recording is off. Recorded data remains in {root}; remove it with `agent metrics off \
             --purge`.\n"
        ),
        (false, false) => "Recording is off.\n".to_owned(),
    })
}

/// Processes that are counting stop too, at their next flush.
fn stop_recorders(session: &Session) -> Result<(), Diagnostic> {
    match existing_store(session)? {
        Some(mut store) => {
            let stopped = store.set_recording(Mode::Off);
            stopped.map_err(|error| store_trouble(store.folder(), &error))
        }
        None => Ok(()),
    }
}
