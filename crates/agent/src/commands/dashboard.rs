//! `agent dashboard`: servers, sign-ins, conversations and metrics in the browser.

use std::time::Duration;

use dashboard::{Options, Program, metrics_frame};

use super::metrics;
use crate::diagnostic::{ErrorContext, Result};
use crate::session::Session;
use crate::view::{self, BrowserLaunch};
use crate::{config, runtime};

const MAX_IDLE_MINUTES: u64 = 24 * 60;

/// Manage servers, sign-ins and chats in the browser
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The pages are served on this machine only, and the link opens them once. If a dashboard of this \
profile is running, the command opens that one. Stop it with Ctrl-C.

Examples:
  agent dashboard
  agent dashboard --no-open --port 8800
  agent dashboard --link 'agent://mcp/install?name=docs&config=...'")]
pub(crate) struct Args {
    /// Show the dialog of an install link
    #[arg(long, value_name = "LINK", allow_hyphen_values = true)]
    link: Option<String>,
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the link instead of opening a browser
    #[arg(long)]
    no_open: bool,
    /// Minutes without requests after which it stops
    #[arg(long, value_name = "MINUTES", default_value_t = 30,
          value_parser = clap::value_parser!(u64).range(1..=MAX_IDLE_MINUTES))]
    idle: u64,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    runtime::run(serve(args, session))
}

async fn serve(args: &Args, session: &Session) -> Result {
    let launch = if args.no_open { BrowserLaunch::Print } else { BrowserLaunch::Browser };
    let home = session.home()?;
    let socket = home.dashboard_socket();
    let link = args.link.as_deref();
    config::made_folder_of(&socket).or_cannot("write to", &socket)?;
    let starting = dashboard::lock_start(&socket).or_cannot("lock", &socket)?;
    let running = dashboard::ask_running(&socket, "/", link).await;
    if let Some(address) = running.or_failed("the running dashboard refused")? {
        view::print_address(&address, &session.output)?;
        view::open(&address, launch, &session.output).await;
        return Ok(());
    }
    let listener = view::listen(args.port).await?;
    let stop = view::stop_signal()?;
    let path = std::env::current_exe().or_failed("cannot find this program")?;
    let profile = session.profile().map(|name| format!("--profile={name}").into());
    let options = Options {
        program: Program { path, options: profile.into_iter().collect() },
        socket,
        metrics: view::routes("metrics", metrics_frame(), metrics::folder(session)?, session),
        idle: Duration::from_mins(args.idle),
    };
    let output = session.output.clone();
    let mut printed = Ok(());
    let opened = |address: String| {
        drop(starting);
        printed = view::print_address(&address, &output);
        output.note("The dashboard is served on this machine only. Press Ctrl-C to stop.");
        tokio::spawn(async move { view::open(&address, launch, &output).await });
    };
    let served = dashboard::serve(listener, options, ("/", link), opened, stop).await;
    served.or_failed("the dashboard failed").and(printed)
}
