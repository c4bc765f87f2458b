//! What the service tells its operator: logs and traces.

use http::Uri;
use settings::{Field, Problem, Reader};

use super::mapping::{Mapping, address};

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// In which form.
    pub format: LogFormat,
    /// From which level on.
    pub level: Level,
    /// Whether every request gets a line.
    pub requests: bool,
}

/// The form of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object.
    Json,
    /// Words for people.
    Text,
}

/// How important a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// What happens.
    Info,
    /// How it happens.
    Debug,
    /// Everything.
    Trace,
}

/// Where traces go.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// An OpenTelemetry collector that takes OTLP over HTTP.
    pub otlp_endpoint: Uri,
    /// The share of requests that are traced, from 0 to 1.
    pub sample: f64,
}

/// The share of requests that are traced, unless the configuration says otherwise.
const DEFAULT_SAMPLE: f64 = 0.1;

const FORMATS: &[(&str, LogFormat)] = &[("json", LogFormat::Json), ("text", LogFormat::Text)];
const LEVELS: &[(&str, Level)] = &[
    ("error", Level::Error),
    ("warn", Level::Warn),
    ("info", Level::Info),
    ("debug", Level::Debug),
    ("trace", Level::Trace),
];

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Json, level: Level::Info, requests: true }
    }
}

/// Reads `log`.
pub(super) fn log(root: &mut Mapping<'_, '_, '_>) -> Log {
    let default = Log::default();
    let Some(field) = root.take("log") else { return default };
    let Some(mut map) = Mapping::open(root.reader, "log", &field) else { return default };
    let log = Log {
        format: map.word("format", FORMATS, default.format),
        level: map.word("level", LEVELS, default.level),
        requests: map.flag("requests", default.requests),
    };
    map.close();
    log
}

/// Reads `trace`.
pub(super) fn trace(root: &mut Mapping<'_, '_, '_>) -> Option<Trace> {
    let field = root.take("trace")?;
    let mut map = Mapping::open(root.reader, "trace", &field)?;
    let endpoint = map.take("otlp_endpoint");
    if endpoint.is_none() {
        map.refuse("has no `otlp_endpoint`", "name a collector, such as `http://127.0.0.1:4318`");
    }
    let endpoint = endpoint.and_then(|field| address(map.reader, &field));
    let sample = map.take("sample").map_or(DEFAULT_SAMPLE, |field| share(map.reader, &field));
    map.close();
    endpoint.map(|otlp_endpoint| Trace { otlp_endpoint, sample })
}

fn share(reader: &mut Reader<'_>, field: &Field<'_>) -> f64 {
    let Some(value) = reader.number(field, "0.1") else { return DEFAULT_SAMPLE };
    if value > 1.0 {
        let problem = Problem::error(field.place, "must be a share from 0 to 1");
        reader.report(&field.key, problem.hint("0.1 is one request in ten"));
    }
    value
}
