//! `agent metrics catalogue`: lists every metric that can be recorded.

use clap::ValueEnum;
use serde_json::{Value, json};
use usage_metrics::catalogue::{
    DimensionSpec, Domain, KINDS, MAX_VERSION_CHARS, RESOURCE, SCHEMA_VERSION, markdown,
};

use crate::diagnostic::Result;
use crate::output::DIM;
use crate::session::Session;

/// List every counter, dimension and value
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent metrics catalogue
  agent metrics catalogue --json | jq '.kinds[].name'")]
pub(crate) struct Args {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for a terminal
    Text,
    /// Markdown
    Markdown,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    if session.output.is_json() {
        return session.output.json(&catalogue_json());
    }
    match args.format {
        Format::Markdown => session.output.verbatim(markdown()),
        Format::Text => session.output.text(catalogue_text()),
    }
}

fn catalogue_json() -> Value {
    let dimension = |spec: &DimensionSpec| {
        let mut value = json!({ "key": spec.key, "summary": spec.summary });
        match spec.domain {
            Domain::Listed(texts) => value["values"] = json!(texts),
            Domain::Identifier { max_chars } => value["identifier_max_chars"] = json!(max_chars),
        }
        value
    };
    let dimensions = |specs: &[DimensionSpec]| specs.iter().map(dimension).collect::<Vec<_>>();
    let kinds: Vec<Value> = KINDS
        .iter()
        .map(|spec| {
            json!({
                "name": spec.name,
                "summary": spec.summary,
                "counters": spec.kind.cardinality(),
                "dimensions": dimensions(spec.dimensions),
            })
        })
        .collect();
    json!({
        "schema_version": SCHEMA_VERSION,
        "resource": dimensions(RESOURCE),
        "agent_version_max_chars": MAX_VERSION_CHARS,
        "kinds": kinds,
    })
}

fn catalogue_text() -> String {
    let mut text = String::new();
    let mut line = |line: String| text.extend([line.as_str(), "\n"]);
    line(format!("resource {DIM}(in every package){DIM:#}"));
    line(format!("  agent_version    text of 1 to {MAX_VERSION_CHARS} characters"));
    for field in RESOURCE {
        line(format!("  {:<16} {}", field.key, domain(field.domain)));
    }
    for spec in &KINDS {
        line(String::new());
        line(format!("{} {DIM}{}{DIM:#}", spec.name, spec.summary));
        let width = spec.keys.iter().map(|key| key.len()).max().unwrap_or(0);
        for dimension in spec.dimensions {
            line(format!("  {:<width$} {}", dimension.key, domain(dimension.domain)));
        }
    }
    text
}

fn domain(domain: Domain) -> String {
    match domain {
        Domain::Listed(texts) => texts.join(" "),
        Domain::Identifier { max_chars } => format!("identifier of 1 to {max_chars} characters"),
    }
}
