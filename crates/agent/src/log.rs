//! The log on standard error: of the running service, and of any command with `RUST_LOG`.

use std::io;

use gateway::config::{Level, Log, LogFormat};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::session::Session;

/// The crates of the service; others log only warnings and errors.
const SERVICE_CRATES: &[&str] = &[
    "agent", "document_index", "document_parser", "gateway", "gateway_store", "ledger",
    "web_reader", "wire",
];

/// Starts the log of the service. `RUST_LOG` overrides the configured level.
pub(crate) fn start_service(log: Log, session: &Session) {
    let level = level(log.level);
    let configured = || {
        let others = Targets::new().with_default(level.min(LevelFilter::WARN));
        others.with_targets(SERVICE_CRATES.iter().map(|name| (*name, level)))
    };
    start(log.format, requested(session).unwrap_or_else(configured));
}

pub(crate) fn start_command(session: &Session) {
    if let Some(targets) = requested(session) {
        start(LogFormat::Text, targets);
    }
}

/// The filter of `RUST_LOG`, such as `mcp_client=debug`.
fn requested(session: &Session) -> Option<Targets> {
    let filter = session.environment.all.get("RUST_LOG").filter(|filter| !filter.is_empty())?;
    match filter.parse() {
        Ok(targets) => Some(targets),
        Err(error) => {
            session.output.warn(format!("RUST_LOG is ignored: {error}"));
            None
        }
    }
}

/// A second start has no effect.
fn start(format: LogFormat, targets: Targets) {
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(false);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Json => Box::new(lines.json().flatten_event(true).with_current_span(false)),
        LogFormat::Text => Box::new(lines.with_target(false)),
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
