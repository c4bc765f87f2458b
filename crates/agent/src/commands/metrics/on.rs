//! `agent metrics on`: a person turns recording on.

use serde_json::json;
use usage_metrics::consent::Mode;
use usage_metrics::store::Store;
use uuid::Uuid;

use super::{decision, folder};
use crate::config;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;
use crate::store_error::store_trouble;

/// Start recording usage; nothing is uploaded
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent metrics on\n  agent metrics status")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    let folder = folder(session)?;
    // What is wrong with the configuration shows before anything is made.
    decision(session)?;
    let path = session.home()?.config();
    config::edited_metrics_mode(&path, Mode::Local)?;
    let mut store = Store::open(&folder, session.clock.now(), Uuid::new_v4)
        .map_err(|error| store_trouble(&folder, &error))?;
    let install_id = store.install_id().map_err(|error| store_trouble(&folder, &error))?;
    config::set_metrics_mode(&path, Mode::Local)?;
    store.set_recording(Mode::Local).map_err(|error| store_trouble(&folder, &error))?;
    let (_, decision) = decision(session)?;
    if session.output.is_json() {
        return session.output.json(&json!({
            "mode": decision.mode.text(),
            "rule": decision.rule.to_string(),
            "folder": folder.root(),
            "install_id": install_id,
        }));
    }
    let root = folder.root().display();
    match decision.mode {
        Mode::Local => session.output.text(format!(
            "{GOOD}Recording is on.{GOOD:#} Counters are kept in {root} and never leave this \
             machine.\nShow them with `agent metrics show`; stop recording with `agent metrics \
             off`.\n"
        )),
        Mode::Off => session.output.text(format!(
            "Recording is on, but nothing is recorded at the moment: {}.\n",
            decision.rule
        )),
    }
}
