//! `agent metrics`: usage metrics of this installation, and packages of any.

mod catalogue;
mod export;
mod inspect;
mod lint;
mod merge;
mod off;
mod on;
mod package;
mod reset_id;
mod schema;
pub(crate) mod show;
pub(super) mod status;
mod validate;
mod view;

use std::path::PathBuf;

use clap::Subcommand;
use usage_metrics::package::Package;
use usage_metrics::store::{Store, StoreFolder};
use uuid::Uuid;

use crate::diagnostic::Diagnostic;
use crate::documents::{DEFAULT_MAX_BYTES, DocumentSplit, Source, sources};
use crate::metrics_recorder::decision;
use crate::session::Session;
use crate::store_error::store_trouble;

/// Record usage locally, view it, and validate packages
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Recording is off until you turn it on. Nothing is uploaded.

Examples:
  agent metrics on
  agent metrics show
  agent metrics validate packages/"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Metrics,
}

/// What can be done with metrics.
#[derive(Debug, Subcommand)]
pub(crate) enum Metrics {
    Status(status::Args),
    On(on::Args),
    Off(off::Args),
    Show(show::Args),
    Package(package::Args),
    Validate(validate::Args),
    Lint(lint::Args),
    Merge(merge::Args),
    Export(export::Args),
    View(view::Args),
    Catalogue(catalogue::Args),
    Schema(schema::Args),
    ResetId(reset_id::Args),
}

pub(crate) fn run(command: Metrics, session: &Session) -> Result<(), Diagnostic> {
    match command {
        Metrics::Status(args) => status::run(&args, session),
        Metrics::On(args) => on::run(&args, session),
        Metrics::Off(args) => off::run(&args, session),
        Metrics::Show(args) => show::run(&args, session),
        Metrics::Package(args) => package::run(&args, session),
        Metrics::Validate(args) => validate::run(&args, session),
        Metrics::Lint(args) => lint::run(&args, session),
        Metrics::Merge(args) => merge::run(&args, session),
        Metrics::Export(args) => export::run(&args, session),
        Metrics::View(args) => view::run(&args, session),
        Metrics::Catalogue(args) => catalogue::run(&args, session),
        Metrics::Schema(args) => schema::run(&args, session),
        Metrics::ResetId(args) => reset_id::run(&args, session),
    }
}

fn folder(session: &Session) -> Result<StoreFolder, Diagnostic> {
    Ok(StoreFolder::new(session.home()?.metrics()))
}

/// The store, if anything was ever recorded.
fn existing_store(session: &Session) -> Result<Option<Store>, Diagnostic> {
    let folder = folder(session)?;
    Store::existing(&folder, Uuid::new_v4).map_err(|error| store_trouble(&folder, &error))
}

/// The store, or an error with a hint.
fn needed_store(session: &Session) -> Result<Store, Diagnostic> {
    existing_store(session)?.ok_or_else(|| {
        Diagnostic::failed("no metrics have been recorded")
            .hint("turn recording on with `agent metrics on`")
    })
}

/// Every package of this installation: those that were made, and what the next ones would be.
fn own_packages(store: &Store) -> Result<Vec<Package>, Diagnostic> {
    let holdings = store.contents().map_err(|error| store_trouble(store.folder(), &error))?;
    let mut packages = Vec::new();
    for stored in holdings.made {
        let package = Package::read(&stored.bytes).map_err(|error| {
            Diagnostic::failed(format!("cannot read package {}", stored.package_id)).because(&error)
        })?;
        packages.push(package);
    }
    packages.extend(holdings.next);
    Ok(packages)
}

/// Reads packages from what was typed; any that is not valid is an error.
fn read_packages(paths: &[PathBuf]) -> Result<Vec<Package>, Diagnostic> {
    let mut packages = Vec::new();
    let mut buffer = Vec::new();
    for source in sources(paths) {
        let source = source.map_err(|(path, error)| cannot_read(&Source::File(path), &error))?;
        let mut failure: Option<(usize, Box<dyn std::error::Error>)> = None;
        source
            .read(DocumentSplit::ByName, DEFAULT_MAX_BYTES, &mut buffer, |piece| {
                let line = match &piece {
                    Ok(document) => document.first_line,
                    Err(oversized) => oversized.first_line,
                };
                let package = match piece {
                    Ok(document) => Package::read(document.bytes).map_err(Into::into),
                    Err(oversized) => Err(oversized.into()),
                };
                match package {
                    Ok(package) => packages.push(package),
                    Err(error) if failure.is_none() => failure = Some((line, error)),
                    Err(_) => {}
                }
            })
            .map_err(|error| cannot_read(&source, &error))?;
        if let Some((line, error)) = failure {
            let name = source.name();
            return Err(Diagnostic::failed(format!("cannot use {name} (line {line})"))
                .because(&*error)
                .hint(format!("see the errors with `agent metrics validate {name}`")));
        }
    }
    Ok(packages)
}

fn cannot_read(source: &Source, error: &std::io::Error) -> Diagnostic {
    Diagnostic::failed(format!("cannot read {}", source.name())).because(error)
}
