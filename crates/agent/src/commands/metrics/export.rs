//! `agent metrics export`: packages in the formats of other tools.

use std::path::PathBuf;

use clap::ValueEnum;
use usage_metrics::export;

use super::{needed_store, own_packages, read_packages};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Export packages in another format
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a path, exports everything of this installation, including counters that are not \
packaged yet.

Examples:
  agent metrics export --format csv > usage.csv
  agent metrics export --format prometheus outbox/")]
pub(crate) struct Args {
    /// Output format
    #[arg(long, short, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Files, folders, or `-` for stdin
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// An array of packages
    Json,
    /// One package per line
    Ndjson,
    /// One row per entry
    Csv,
    /// Prometheus text with running totals
    Prometheus,
    /// OTLP JSON with delta sums
    Otlp,
}

impl From<Format> for export::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => export::Format::Json,
            Format::Ndjson => export::Format::Ndjson,
            Format::Csv => export::Format::Csv,
            Format::Prometheus => export::Format::Prometheus,
            Format::Otlp => export::Format::Otlp,
        }
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let packages = if args.paths.is_empty() {
        own_packages(&needed_store(session)?)?
    } else {
        read_packages(&args.paths)?
    };
    let text = export::export(packages, args.format.into())
        .map_err(|error| Diagnostic::failed("cannot add up these packages").because(&error))?;
    session.output.bytes(text.as_bytes())
}
