//! `agent metrics schema`: the published JSON Schema.

use usage_metrics::schema::json_schema;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print the JSON Schema of a package (draft 2020-12)
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent metrics schema > metrics.schema.json")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    session.output.json(&json_schema())
}
