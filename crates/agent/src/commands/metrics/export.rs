//! `agent metrics export`: packages in the formats of other tools.

use std::path::PathBuf;

use clap::ValueEnum;
use usage_metrics::export;

use super::{needed_store, own_packages, read_packages};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Write packages in the format of another tool
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a path everything this installation holds is written: packages and what is \
                        not packaged yet.\n\nExamples:\n  agent metrics export --format csv > usage.csv\n  \
                        agent metrics export --format prometheus outbox/"
)]
pub(crate) struct Args {
    /// The format
    #[arg(long, short, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Files, folders, or `-` for standard input
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// An array of packages
    Json,
    /// A package on each line
    Ndjson,
    /// A row for each entry
    Csv,
    /// Prometheus text: running totals
    Prometheus,
    /// OTLP in JSON: delta sums
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
        .map_err(|error| Diagnostic::failed("cannot add these packages up").because(&error))?;
    session.output.bytes(text.as_bytes())
}
