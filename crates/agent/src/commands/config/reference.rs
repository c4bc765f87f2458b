//! `agent config reference`: every key of `config.yaml`.

use super::schema::own_schema;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print the reference of config.yaml as Markdown
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = "Examples:\n  agent config reference")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    let page =
        include_str!("page.md").replace("<!-- keys -->\n", &own_schema().chapters("The file"));
    session.output.markdown(&format!("{}\n", page.trim_end()))
}
