//! The log of the running service: lines on standard error, as the configuration says.

use std::io;

use gateway::config::{Level, Log, LogFormat};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

/// The crates whose lines are ours; of others only what is odd is told.
const OURS: &[&str] = &["agent", "document_index", "gateway", "gateway_store", "wire", "ledger"];

/// Starts the log for the rest of the process. A second start changes nothing.
pub(crate) fn start(log: Log) {
    let level = level(log.level);
    let others = level.min(LevelFilter::WARN);
    let targets =
        Targets::new().with_default(others).with_targets(OURS.iter().map(|name| (*name, level)));
    let lines = fmt::layer().with_writer(io::stderr);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match log.format {
        LogFormat::Json => Box::new(lines.json().flatten_event(true).with_current_span(false)),
        LogFormat::Text => Box::new(lines.with_target(false).with_ansi(false)),
    };
    let _ = tracing_subscriber::registry().with(lines.with_filter(targets)).try_init();
}

fn level(level: Level) -> LevelFilter {
    match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}
