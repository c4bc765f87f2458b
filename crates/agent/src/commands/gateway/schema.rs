//! `agent gateway schema`: the JSON Schema of `gateway.yaml`.

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print the JSON Schema of gateway.yaml for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Editors with the YAML language server validate and complete gateway.yaml if its first line is `# \
yaml-language-server: $schema=gateway.schema.json`.

Examples:
  agent gateway schema > gateway.schema.json")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    session.output.json(&gateway::config::schema().published("gateway.yaml"))
}
