//! `agent mcp`: configuration and status of MCP servers.

mod add;
mod approvals;
mod call;
mod candidate;
mod client_document;
pub(super) mod doctor;
mod import;
pub(crate) mod install;
mod link;
pub(crate) mod list;
mod login;
mod logout;
mod logs;
mod move_secrets;
pub(crate) mod project;
mod register_links;
mod remove;
mod secrets;
mod server_registry;
mod set;
mod status;
mod tasks;
mod test;
pub(crate) mod tools;

use std::io;

use clap::Subcommand;

use crate::diagnostic::Result;
use crate::session::Session;

/// Add, test and call MCP servers
#[derive(Debug, Subcommand)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Servers are configured under `mcp_servers` in config.yaml; `agent mcp reference` explains every \
key.

Examples:
  agent mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  agent mcp add docs --url https://example.com/mcp
  agent mcp list
  agent mcp test files
  agent mcp call mcp__files__list_directory '{\"path\": \".\"}'"
)]
pub(crate) enum Command {
    List(list::Args),
    Add(Box<add::Args>),
    Search(server_registry::Args),
    Import(import::Args),
    Project(project::Args),
    Install(install::Args),
    Link(link::Args),
    RegisterLinks(register_links::Args),
    Set(set::Args),
    Remove(remove::Args),
    /// Enable disabled servers
    #[command(after_help = "Examples:\n  agent mcp enable files\n  agent mcp enable files docs")]
    Enable(set::SwitchArgs),
    /// Disable servers without removing them
    #[command(after_help = "Examples:\n  agent mcp disable files\n  agent mcp disable files docs")]
    Disable(set::SwitchArgs),
    Test(test::Args),
    Tools(tools::Args),
    Call(call::Args),
    #[command(subcommand)]
    Tasks(tasks::Command),
    Approvals(approvals::Args),
    Login(login::Args),
    Logout(logout::Args),
    Status(status::Args),
    Logs(logs::Args),
    #[command(subcommand)]
    Secrets(move_secrets::Command),
    Doctor(doctor::Args),
    ClientDocument(client_document::Args),
    /// Print the reference of server settings as Markdown
    #[command(after_help = "Example:\n  agent mcp reference")]
    Reference,
    /// End what a killed agent left behind; started by the agent itself
    #[command(hide = true)]
    Guard {
        /// Whose servers.
        owner: String,
    },
}

pub(crate) fn run(command: Command, session: &Session) -> Result {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Add(args) => add::run(&args, session),
        Command::Search(args) => server_registry::run(&args, session),
        Command::Import(args) => import::run(&args, session),
        Command::Project(args) => project::run(&args, session),
        Command::Install(args) => install::run(&args, session),
        Command::Link(args) => link::run(&args, session),
        Command::RegisterLinks(args) => register_links::run(&args, session),
        Command::Set(args) => set::run(&args, session),
        Command::Remove(args) => remove::run(&args, session),
        Command::Enable(args) => set::switch(&args, true, session),
        Command::Disable(args) => set::switch(&args, false, session),
        Command::Test(args) => test::run(&args, session),
        Command::Tools(args) => tools::run(&args, session),
        Command::Call(args) => call::run(&args, session),
        Command::Tasks(command) => tasks::run(&command, session),
        Command::Approvals(args) => approvals::run(&args, session),
        Command::Login(args) => login::run(&args, session),
        Command::Logout(args) => logout::run(&args, session),
        Command::Status(args) => status::run(&args, session),
        Command::Logs(args) => logs::run(&args, session),
        Command::Secrets(move_secrets::Command::Move(args)) => move_secrets::run(&args, session),
        Command::Doctor(args) => doctor::run(&args, session),
        Command::ClientDocument(args) => client_document::run(&args, session),
        Command::Reference => session.output.markdown(&mcp_client::config::page()),
        Command::Guard { owner } => {
            mcp_client::guardian::run(io::stdin().lock(), &owner);
            Ok(())
        }
    }
}
