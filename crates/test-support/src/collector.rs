//! The OpenTelemetry collector rotel, and the spans that it received.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;

use tempfile::TempDir;

use crate::mcp::installed::{python_of, script};
use crate::oauth::Process;
use crate::port;
use crate::wait::eventually;

#[derive(Debug)]
pub struct OtelCollector {
    process: Process,
    folder: TempDir,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectedSpan {
    /// `Trace ID`, `ID`, `Parent ID`, `Name`, `Kind`, `Start time`, `End time`, `Status code`.
    pub fields: BTreeMap<String, String>,
    /// Name and value of each attribute, such as `Int(200)`.
    pub attributes: BTreeMap<String, String>,
}

impl OtelCollector {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut launch = python_of("otel", &[&script("otel.py")]);
        let http = port::free();
        let variables = [
            ("OTEL_HTTP", http.to_string()),
            ("OTEL_GRPC", port::free().to_string()),
            ("OTEL_LOG", folder.path().join("log").display().to_string()),
        ];
        launch.env.extend(variables.map(|(name, value)| (name.to_owned(), value)));
        let process = Process::start(&launch);
        eventually("the collector accepts connections", || TcpStream::connect(http).is_ok());
        Self { process, folder }
    }

    /// Where it receives OTLP over HTTP.
    pub fn endpoint(&self) -> &str {
        self.process.address("otlp")
    }

    /// All of its output, errors included.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// All spans so far, in the order of arrival.
    pub fn spans(&self) -> Vec<CollectedSpan> {
        self.log().split("\nSpan #").skip(1).map(parse).collect()
    }
}

fn parse(text: &str) -> CollectedSpan {
    let mut span = CollectedSpan::default();
    let mut lines = text.lines().skip(1).take_while(|line| !line.starts_with("ResourceSpans"));
    for line in lines.by_ref().take_while(|line| *line != "Attributes:") {
        if let Some((name, value)) = line.split_once(':') {
            span.fields.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    for line in lines {
        if let Some((name, value)) =
            line.trim().strip_prefix("-> ").and_then(|line| line.split_once(": "))
        {
            span.attributes.insert(name.to_owned(), value.to_owned());
        }
    }
    span
}

#[cfg(test)]
mod tests;
