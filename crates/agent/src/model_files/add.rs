//! Copies a file of a person to the folder of models.

use std::fs::{self, File};
use std::path::Path;

use local_model::About;
use task_loop::untrusted::printable;

use super::model_dir::{ModelDir, Name, Record};
use super::staging::{CopyError, Staging, pour};
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::download::OnConflict;
use crate::home::is_full;
use crate::output::BYTES;
use crate::session::Session;

#[derive(Debug)]
pub(crate) struct AddedModel {
    pub(crate) about: About,
    pub(crate) record: Record,
    pub(crate) is_replaced: bool,
}

/// Copies a usable model file. The folder never has incomplete files.
pub(crate) async fn add(
    path: &Path,
    name: &Name,
    existing: OnConflict,
    shelf: &ModelDir,
    session: &Session,
) -> Result<AddedModel> {
    let shown = printable(&path.display().to_string());
    let found =
        fs::metadata(path).map_err(|error| Diagnostic::cannot_read(Exit::Failed, path, &error))?;
    if !found.is_file() {
        return Err(Diagnostic::failed(format!("{shown} is not a file")));
    }
    let about = About::read(path).map_err(|problem| {
        Diagnostic::failed(format!("cannot use {shown}"))
            .cause(printable(&problem.to_string()))
            .hint("models are GGUF files of the Llama architecture; see docs/local-model.md")
    })?;
    let _lock = shelf.lock(session).await?;
    let is_replaced = shelf.has(name);
    if is_replaced && existing == OnConflict::Keep {
        return Err(Diagnostic::failed(format!("model `{name}` exists already"))
            .hint("replace it with `--replace`, or choose another name with `--name`"));
    }
    shelf.check_room(about.file_bytes)?;
    let staging = Staging::open(shelf, name)?;
    let cannot = |error: &std::io::Error| {
        let hint = is_full(error).then(|| "free up disk space and try again".to_owned());
        Diagnostic::failed(format!("cannot copy {shown}")).because(error).hints(hint)
    };
    let mut file = File::open(path).map_err(|error| cannot(&error))?;
    let bar = session.output.progress(about.file_bytes, BYTES);
    let watch = |bytes: u64| bar.set_position(bytes);
    let poured = pour(&mut file, &staging.growing(), about.file_bytes, &watch).await;
    bar.finish_and_clear();
    let changed = || Diagnostic::failed(format!("{shown} changed while it was copied"));
    let poured = poured.map_err(|trouble| match trouble {
        CopyError::Read(error) | CopyError::Write(error) => cannot(&error),
        CopyError::TooLong => changed(),
    })?;
    if poured.bytes != about.file_bytes {
        return Err(changed());
    }
    let source = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let record = Record {
        source: source.to_string_lossy().into_owned(),
        bytes: poured.bytes,
        sha256: poured.sha256.to_string(),
        added: session.clock.now().to_string(),
    };
    shelf.publish(poured.path, name, &record)?;
    Ok(AddedModel { about, record, is_replaced })
}
