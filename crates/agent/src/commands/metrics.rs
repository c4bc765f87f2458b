//! `agent metrics`: usage metrics of this installation, and packages of any installation.

mod catalogue;
mod inspect;
mod on;
pub(super) mod status;

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::PossibleValue;
use serde_json::json;
use usage_metrics::package::Package;
use usage_metrics::schema::json_schema;
use usage_metrics::store::{PackageScope, Store, StoreFolder};
use usage_metrics::{export, merge};
use uuid::Uuid;

use self::inspect::{Inspection, Question, inspect};
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::documents::{DEFAULT_MAX_BYTES, DocumentSplit, Source, sources};
use crate::key_value::words;
use crate::metrics_recorder::{decision, store_problem};
use crate::session::Session;
use crate::view;

const NOTHING_NEW: &str = "Nothing was counted since the last package. See what is recorded with \
    `agent metrics status`.";

/// Record usage locally, view it, and validate packages
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Recording is off until you turn it on. Nothing is uploaded.

Examples:
  agent metrics on
  agent metrics show
  agent metrics validate packages/")]
pub(crate) enum Command {
    /// Show what is recorded, where, and why
    #[command(after_help = "Examples:\n  agent metrics status\n  agent metrics status --json")]
    Status,
    /// Start recording usage; nothing is uploaded
    #[command(after_help = "Examples:\n  agent metrics on\n  agent metrics status")]
    On,
    Off(on::Off),
    Show(Show),
    /// Write packages of all counters to the outbox folder
    #[command(after_help = "\
Completed days are packaged automatically.

Examples:
  agent metrics package
  agent metrics package --json | jq -r '.packages[].file'")]
    Package,
    /// Validate packages against the specification
    #[command(after_help = "\
Every error is reported with its location. Exit codes: 0 all valid, 1 a package is invalid or \
cannot be read.

Examples:
  agent metrics validate package.json
  agent metrics validate outbox/ archive.ndjson.gz
  agent metrics validate --json - < package.json")]
    Validate(Inspection),
    Lint(Lint),
    Merge(Merge),
    Export(Export),
    View(View),
    Catalogue(catalogue::Args),
    /// Print the JSON Schema of a package (draft 2020-12)
    #[command(after_help = "Examples:\n  agent metrics schema > metrics.schema.json")]
    Schema,
    /// Replace the installation id with a new random one
    #[command(after_help = "Examples:\n  agent metrics reset-id")]
    ResetId,
}

pub(crate) fn run(command: Command, session: &Session) -> Result {
    match command {
        Command::Status => status::run(session),
        Command::On => on::run(session),
        Command::Off(args) => on::off(&args, session),
        Command::Show(args) => show(&args, session),
        Command::Package => package(session),
        Command::Validate(args) => inspect(&args, Question::Validate, session),
        Command::Lint(Lint { inspection, deny_warnings }) => {
            let question = if deny_warnings { Question::LintStrictly } else { Question::Lint };
            inspect(&inspection, question, session)
        }
        Command::Merge(args) => merge(&args, session),
        Command::Export(args) => export_packages(&args, session),
        Command::View(args) => open_view(&args, session),
        Command::Catalogue(args) => catalogue::run(&args, session),
        Command::Schema => session.output.json(&json_schema()),
        Command::ResetId => reset_id(session),
    }
}

pub(super) fn folder(session: &Session) -> Result<StoreFolder> {
    Ok(StoreFolder::new(session.home()?.metrics()))
}

fn existing_store(session: &Session) -> Result<Option<Store>> {
    let folder = folder(session)?;
    Store::existing(&folder, Uuid::new_v4).map_err(|error| store_problem(&folder, &error))
}

fn needed_store(session: &Session) -> Result<Store> {
    existing_store(session)?.ok_or_else(|| {
        Diagnostic::failed("no metrics have been recorded")
            .hint("turn recording on with `agent metrics on`")
    })
}

/// All packages of this installation: the created ones, and previews of the next ones.
fn own_packages(store: &Store) -> Result<Vec<Package>> {
    let holdings = store.contents().map_err(|error| store_problem(store.folder(), &error))?;
    let made = holdings.made.iter().map(|stored| {
        let message = format!("cannot read package {}", stored.package_id);
        Package::read(&stored.bytes).or_failed(message)
    });
    made.chain(holdings.next.into_iter().map(Ok)).collect()
}

/// Reads packages from paths; an invalid one is an error.
fn read_packages(paths: &[PathBuf]) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    let mut buffer = Vec::new();
    for source in sources(paths) {
        let source = source.map_err(|(path, error)| cannot_read(&Source::File(path), &error))?;
        let mut failure: Option<(usize, Box<dyn std::error::Error>)> = None;
        source
            .read(DocumentSplit::ByName, DEFAULT_MAX_BYTES, &mut buffer, |piece| {
                let (line, package) = match piece {
                    Ok(document) => {
                        (document.first_line, Package::read(document.bytes).map_err(Into::into))
                    }
                    Err(oversized) => (oversized.first_line, Err(oversized.into())),
                };
                match package {
                    Ok(package) => packages.push(package),
                    Err(error) => drop(failure.get_or_insert((line, error))),
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
    Diagnostic::cannot_read(Exit::Failed, source.name().as_ref(), error)
}

fn reset_id(session: &Session) -> Result {
    let mut store = needed_store(session)?;
    let folder = store.folder().clone();
    let install_id = store.reset_id().map_err(|error| store_problem(&folder, &error))?;
    session.output.print(&json!({ "install_id": install_id }), format!("{install_id}\n"))
}

/// Validate packages and warn about suspicious values
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Warnings:
  L001  period_end is not after period_start
  L002  generated_at is before period_start
  L003  the period is not one UTC day
  L004  two entries have the same name and dimensions
  L005  outcome, end_reason and termination of a finished task are inconsistent
  L006  the dimensions of a skill load are inconsistent

Examples:
  agent metrics lint outbox/
  agent metrics lint --deny-warnings package.json")]
pub(crate) struct Lint {
    #[command(flatten)]
    inspection: Inspection,
    /// Exit with code 1 on any warning
    #[arg(long)]
    deny_warnings: bool,
}

/// Show metrics in the browser
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page is served on this machine only. Stop it with Ctrl-C.

Examples:
  agent metrics view
  agent metrics view --port 8800 --no-open")]
pub(crate) struct View {
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the URL instead of opening a browser
    #[arg(long)]
    no_open: bool,
}

fn open_view(args: &View, session: &Session) -> Result {
    // Without a store there is nothing to inspect; the error has the fix.
    drop(needed_store(session)?);
    let opening =
        if args.no_open { view::BrowserLaunch::Print } else { view::BrowserLaunch::Browser };
    view::run(folder(session)?, args.port, opening, session)
}

/// Merge packages by installation, period and resource
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Duplicate packages count once. Several results are printed one per line.

Examples:
  agent metrics merge outbox/
  cat a.json | agent metrics merge - b.json")]
pub(crate) struct Merge {
    /// Files, folders, or `-` for stdin
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

fn merge(args: &Merge, session: &Session) -> Result {
    let packages = read_packages(&args.paths)?;
    let count = packages.len();
    let merged = merge::merge(packages).or_failed("cannot add up these packages")?;
    match &merged[..] {
        [one] => session.output.bytes(&one.to_bytes())?,
        many => {
            for package in many {
                session.output.json_line(package)?;
            }
        }
    }
    session.output.note(format!("merged {count} packages into {}", merged.len()));
    Ok(())
}

/// Print the next package exactly as it would be written
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent metrics show\n  agent metrics show --all")]
pub(crate) struct Show {
    /// Print all packages that would be written now
    #[arg(long)]
    all: bool,
}

fn show(args: &Show, session: &Session) -> Result {
    let drafts = drafts(session)?;
    let (output, count) = (&session.output, drafts.len());
    for package in drafts.iter().take(if args.all { count } else { 1 }) {
        output.bytes(&package.to_bytes())?;
    }
    if count == 0 {
        output.note(NOTHING_NEW);
    } else if count > 1 && !args.all {
        output
            .note(format!("this is the first of {count} packages; print all of them with `--all`"));
    }
    Ok(())
}

pub(crate) fn drafts(session: &Session) -> Result<Vec<Package>> {
    let store = needed_store(session)?;
    store.drafts(PackageScope::All).map_err(|error| store_problem(store.folder(), &error))
}

fn package(session: &Session) -> Result {
    let (config, _) = decision(session)?;
    let mut store = needed_store(session)?;
    let folder = store.folder().clone();
    let now = session.clock.now();
    let trouble = |error| store_problem(&folder, &error);
    let made = store.package(PackageScope::All, now).map_err(trouble)?;
    let written = store.write_outbox(now).map_err(trouble)?;
    let pruned = store.prune(now, config.retention_days).map_err(trouble)?;
    let (mut packages, mut lines) = (Vec::new(), String::new());
    for package in &made {
        let path = folder.package(&package.package_id);
        lines.push_str(&format!("{} {}\n", package.day, path.display()));
        packages.push(json!({
            "package_id": package.package_id,
            "day": package.day.to_string(),
            "file": path.to_string_lossy(),
            "bytes": package.bytes.len(),
        }));
    }
    let (output, forgotten) = (&session.output, pruned.packages);
    let json = json!({
        "packages": packages, "files_written": written, "packages_forgotten": forgotten,
    });
    output.print(&json, lines)?;
    if made.is_empty() {
        output.tell(NOTHING_NEW);
    }
    if written > made.len() {
        output.tell(format!("{} missing files were written again", written - made.len()));
    }
    if forgotten > 0 {
        let days = config.retention_days;
        output.tell(format!("{forgotten} packages older than {days} days were removed"));
    }
    Ok(())
}

/// Export packages in another format
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a path, exports everything of this installation, including counters that are not \
packaged yet.

Examples:
  agent metrics export --format csv > usage.csv
  agent metrics export --format prometheus outbox/")]
pub(crate) struct Export {
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "json",
          value_parser = words::<export::Format>([
              PossibleValue::new("json").help("An array of packages"),
              PossibleValue::new("ndjson").help("One package per line"),
              PossibleValue::new("csv").help("One row per entry"),
              PossibleValue::new("prometheus").help("Prometheus text with running totals"),
              PossibleValue::new("otlp").help("OTLP JSON with delta sums"),
          ]))]
    format: export::Format,
    /// Files, folders, or `-` for stdin
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(crate) fn export_packages(args: &Export, session: &Session) -> Result {
    let packages = if args.paths.is_empty() {
        own_packages(&needed_store(session)?)?
    } else {
        read_packages(&args.paths)?
    };
    let text = export::export(packages, args.format);
    let text = text.or_failed("cannot add up these packages")?;
    session.output.bytes(text.as_bytes())
}
