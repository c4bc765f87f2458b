//! The commands, one file each.

mod chat;
mod completions;
mod config;
mod dashboard;
mod doctor;
mod down;
mod fetch;
mod gateway;
mod man;
mod mcp;
mod me;
mod media;
mod metrics;
mod models;
pub(crate) mod parse_worker;
mod research;
mod run;
mod search;
mod skills;
mod up;
mod update;
mod usage;

use clap::Subcommand;

use crate::diagnostic::Result;
use crate::log;
use crate::member::retry::RetryOptions;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::Args),
    Down(down::Args),
    Chat(chat::Args),
    Run(run::Args),
    Dashboard(dashboard::Args),
    Models(models::Args),
    /// Show your balance, key and usage
    #[command(after_help = "Examples:\n  agent me\n  agent me --json")]
    Me(RetryOptions),
    Usage(usage::Args),
    Search(search::Args),
    Fetch(fetch::Args),
    #[command(subcommand)]
    Research(research::Command),
    #[command(subcommand)]
    Media(media::Command),
    #[command(subcommand)]
    Mcp(mcp::Command),
    #[command(subcommand)]
    Skills(skills::Command),
    Gateway(gateway::Args),
    #[command(subcommand)]
    Metrics(metrics::Command),
    Doctor(doctor::Args),
    Update(update::Args),
    Completions(completions::Args),
    #[command(subcommand)]
    Config(config::Command),
    Man(man::Args),
    ParseWorker(parse_worker::Args),
}

impl Command {
    /// Whether the command starts the log with the format and level of the service's configuration.
    fn starts_service_log(&self) -> bool {
        match self {
            Command::Up(_) | Command::ParseWorker(_) => true,
            Command::Gateway(args) => args.is_serve(),
            _ => false,
        }
    }
}

pub(crate) fn run(command: Command, session: &Session, program: fn() -> clap::Command) -> Result {
    if !command.starts_service_log() {
        log::start_command(session);
    }
    match command {
        Command::Up(args) => up::run(&args, session),
        Command::Down(args) => down::run(&args, session),
        Command::Run(args) => run::run(&args, session),
        Command::Chat(args) => chat::run(&args, session),
        Command::Dashboard(args) => dashboard::run(&args, session),
        Command::Me(args) => me::run(args, session),
        Command::Usage(args) => usage::run(&args, session),
        Command::Models(args) => models::run(&args, session),
        Command::Search(args) => search::run(&args, session),
        Command::Fetch(args) => fetch::run(&args, session),
        Command::Research(args) => research::run(args, session),
        Command::Media(args) => media::run(args, session),
        Command::Gateway(args) => gateway::run(args, session),
        Command::Mcp(args) => mcp::run(args, session),
        Command::Skills(args) => skills::run(args, session),
        Command::Metrics(args) => metrics::run(args, session),
        Command::Config(args) => config::run(&args, session),
        Command::Doctor(args) => doctor::run(&args, session),
        Command::Update(args) => update::run(&args, session),
        Command::Completions(args) => completions::run(&args, session, program()),
        Command::Man(args) => man::run(&args, session, program()),
        Command::ParseWorker(args) => parse_worker::run(&args),
    }
}
