//! `agent config schema`: the JSON Schema of `config.yaml`.

use settings::Schema;

use crate::commands::update::channel::UpdateFile;
use crate::config::MetricsConfig;
use crate::diagnostic::Diagnostic;
use crate::member::settings::{MemberFile, RootFile};
use crate::session::Session;
use crate::task_setup::TaskConfig;

/// Print the JSON Schema of config.yaml for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Editors with the YAML language server validate and complete config.yaml if its first line is `# \
yaml-language-server: $schema=config.schema.json`.

Examples:
  agent config schema > config.schema.json")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    session.output.json(&schema().published("config.yaml"))
}

fn schema() -> Schema {
    let (servers, for_all) = (mcp_client::config::schema(), mcp_client::config::schema_for_all());
    own_schema()
        .with_key("mcp_servers", servers.clone().named())
        .with_key("mcp", for_all.clone())
        .with_other_keys()
}

/// The schema without MCP servers, which have a reference page to themselves.
pub(super) fn own_schema() -> Schema {
    Schema::of::<RootFile>()
        .with_key("member", Schema::of::<MemberFile>())
        .with_key("task", Schema::of::<TaskConfig>())
        .with_key("metrics", Schema::of::<MetricsConfig>())
        .with_key("update", Schema::of::<UpdateFile>())
}
