//! `agent mcp`: MCP servers, how they are configured and how they are.

mod add;
mod approvals;
mod call;
mod candidate;
mod client_document;
mod disable;
pub(super) mod doctor;
mod enable;
mod guard;
mod import;
pub(crate) mod install;
mod link;
pub(crate) mod list;
mod login;
mod logout;
mod logs;
mod named;
pub(crate) mod project;
mod reference;
mod register_links;
mod remove;
mod search;
mod secrets;
mod server_registry;
mod sign_in_state;
mod status;
mod switch;
mod test;
pub(crate) mod tools;

use clap::Subcommand;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Add, test and call MCP servers
#[derive(Debug, clap::Args)]
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
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Mcp,
}

/// What can be done with servers.
#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    List(list::Args),
    Add(Box<add::Args>),
    Search(search::Args),
    Import(import::Args),
    Project(project::Args),
    Install(install::Args),
    Link(link::Args),
    RegisterLinks(register_links::Args),
    Remove(remove::Args),
    Enable(enable::Args),
    Disable(disable::Args),
    Test(test::Args),
    Tools(tools::Args),
    Call(call::Args),
    Approvals(approvals::Args),
    Login(login::Args),
    Logout(logout::Args),
    Status(status::Args),
    Logs(logs::Args),
    Doctor(doctor::Args),
    ClientDocument(client_document::Args),
    Reference(reference::Args),
    Guard(guard::Args),
}

pub(crate) fn run(command: Mcp, session: &Session) -> Result<(), Diagnostic> {
    match command {
        Mcp::List(args) => list::run(&args, session),
        Mcp::Add(args) => add::run(&args, session),
        Mcp::Search(args) => search::run(&args, session),
        Mcp::Import(args) => import::run(&args, session),
        Mcp::Project(args) => project::run(&args, session),
        Mcp::Install(args) => install::run(&args, session),
        Mcp::Link(args) => link::run(&args, session),
        Mcp::RegisterLinks(args) => register_links::run(&args, session),
        Mcp::Remove(args) => remove::run(&args, session),
        Mcp::Enable(args) => enable::run(&args, session),
        Mcp::Disable(args) => disable::run(&args, session),
        Mcp::Test(args) => test::run(&args, session),
        Mcp::Tools(args) => tools::run(&args, session),
        Mcp::Call(args) => call::run(&args, session),
        Mcp::Approvals(args) => approvals::run(&args, session),
        Mcp::Login(args) => login::run(&args, session),
        Mcp::Logout(args) => logout::run(&args, session),
        Mcp::Status(args) => status::run(&args, session),
        Mcp::Logs(args) => logs::run(&args, session),
        Mcp::Doctor(args) => doctor::run(&args, session),
        Mcp::ClientDocument(args) => client_document::run(&args, session),
        Mcp::Reference(args) => reference::run(&args, session),
        Mcp::Guard(args) => {
            guard::run(&args);
            Ok(())
        }
    }
}
