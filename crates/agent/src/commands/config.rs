//! `agent config`: the configuration of the profile.

use clap::Subcommand;
use settings::Schema;

use super::update::UpdateFile;
use crate::config::MetricsConfig;
use crate::config::secrets::SecretsConfig;
use crate::diagnostic::Result;
use crate::member::settings::{MemberFile, RootFile};
use crate::session::Session;
use crate::task_setup::TaskConfig;

/// Print the JSON Schema of config.yaml
#[derive(Debug, Subcommand)]
#[command(
    hide = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  agent config schema"
)]
pub(crate) enum Command {
    /// Print the reference of config.yaml as Markdown
    #[command(hide = true, after_help = "Examples:\n  agent config reference")]
    Reference,
    /// Print the JSON Schema of config.yaml for editors
    #[command(after_help = "\
Editors with the YAML language server validate and complete config.yaml if its first line is `# \
yaml-language-server: $schema=config.schema.json`.

Examples:
  agent config schema > config.schema.json")]
    Schema,
}

pub(crate) fn run(command: &Command, session: &Session) -> Result {
    match command {
        Command::Reference => {
            let chapters = own_schema().chapters("The file");
            let page = include_str!("config/page.md").replace("<!-- keys -->\n", &chapters);
            session.output.markdown(&format!("{}\n", page.trim_end()))
        }
        Command::Schema => {
            let schema = own_schema()
                .with_key("mcp_servers", mcp_client::config::schema().clone().named())
                .with_key("mcp", mcp_client::config::schema_for_all().clone())
                .with_other_keys();
            session.output.json(&schema.published("config.yaml"))
        }
    }
}

/// The schema without MCP servers, which have their own reference page.
fn own_schema() -> Schema {
    Schema::of::<RootFile>()
        .with_key("member", Schema::of::<MemberFile>())
        .with_key("task", Schema::of::<TaskConfig>())
        .with_key("metrics", Schema::of::<MetricsConfig>())
        .with_key("secrets", Schema::of::<SecretsConfig>())
        .with_key("update", Schema::of::<UpdateFile>())
}
