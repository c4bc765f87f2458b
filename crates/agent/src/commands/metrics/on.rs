//! `agent metrics on` and `off`: turn recording on and off.

use serde_json::json;
use usage_metrics::consent::Mode;
use usage_metrics::store::Store;
use uuid::Uuid;

use super::{decision, existing_store, folder};
use crate::config::{self, MetricsConfig};
use crate::diagnostic::Result;
use crate::metrics_recorder::store_problem;
use crate::output::GOOD;
use crate::session::Session;

pub(crate) fn run(session: &Session) -> Result {
    let folder = folder(session)?;
    // Report configuration errors before anything is created.
    decision(session)?;
    let path = session.home()?.config();
    config::edited(&path, [config::METRICS, "mode", Mode::Local.text()])?;
    let mut store = Store::open(&folder, session.clock.now(), Uuid::new_v4)
        .map_err(|error| store_problem(&folder, &error))?;
    let install_id = store.install_id().map_err(|error| store_problem(&folder, &error))?;
    config::set_metrics_mode(&path, Mode::Local)?;
    store.set_recording(Mode::Local).map_err(|error| store_problem(&folder, &error))?;
    let (_, decision) = decision(session)?;
    let done = json!({
        "mode": decision.mode.text(),
        "rule": decision.rule.to_string(),
        "folder": folder.root().to_string_lossy(),
        "install_id": install_id,
    });
    let (root, rule) = (folder.root().display(), decision.rule);
    let text = match decision.mode {
        Mode::Local => format!(
            "{GOOD}Recording is on.{GOOD:#} Counters are kept in {root} and never leave this \
             machine.\nShow them with `agent metrics show`; stop recording with `agent metrics \
             off`.\n"
        ),
        Mode::Off => {
            format!("Recording is on, but nothing is recorded at the moment: {rule}.\n")
        }
    };
    session.output.print(&done, text)
}

/// Stop recording
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent metrics off\n  agent metrics off --purge")]
pub(crate) struct Off {
    /// Also delete counters, packages and the installation id
    #[arg(long)]
    purge: bool,
}

pub(crate) fn off(args: &Off, session: &Session) -> Result {
    let (folder, path) = (folder(session)?, session.home()?.config());
    let existed = folder.exists();
    // Withdraw the consent first, whatever else fails.
    let told = stop_recorders(session);
    if args.purge {
        folder.purge().map_err(|error| store_problem(&folder, &error))?;
    } else if let Err(diagnostic) = told {
        session.output.note("running processes keep recording until they exit:");
        session.output.note(diagnostic.message.unwrap_or_default());
    }
    // Without a configuration recording is off already; no file is created for that.
    if MetricsConfig::read(&*session.config()?)?.mode().is_some() {
        config::set_metrics_mode(&path, Mode::Off)?;
    }
    let json = json!({
        "mode": Mode::Off.text(),
        "purged": args.purge && existed,
        "folder": folder.root().to_string_lossy(),
    });
    let root = folder.root().display();
    let text = match (args.purge, existed) {
        (true, true) => format!("Recording is off. Everything in {root} was removed.\n"),
        (true, false) => "Recording is off. Nothing to remove.\n".to_owned(),
        (false, true) => format!(
            "Recording is off. Recorded data remains in {root}; remove it with `agent metrics off \
             --purge`.\n"
        ),
        (false, false) => "Recording is off.\n".to_owned(),
    };
    session.output.print(&json, text)
}

/// Recording processes stop too, at their next flush.
fn stop_recorders(session: &Session) -> Result {
    match existing_store(session)? {
        Some(mut store) => {
            let stopped = store.set_recording(Mode::Off);
            stopped.map_err(|error| store_problem(store.folder(), &error))
        }
        None => Ok(()),
    }
}
