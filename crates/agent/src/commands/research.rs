//! `agent research`: jobs that search, read and write a report, without anybody waiting.

mod cancel;
mod list;
mod report;
mod show;
mod start;
mod watch;

use clap::Subcommand;
use task_loop::untrusted::printable;

use crate::diagnostic::Diagnostic;
use crate::member::retry::RetryOptions;
use crate::session::Session;

/// Research questions and read the reports
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Jobs run in the service and continue when you disconnect. A job is charged when its report is \
complete.

Examples:
  agent research start \"Which files can be searched?\" --watch
  agent research list
  agent research show job_0123 > report.md
  agent research watch job_0123"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Start(start::Args),
    List(list::Args),
    Show(show::Args),
    Watch(watch::Args),
    Cancel(cancel::Args),
}

/// A job that is asked about.
#[derive(Debug, clap::Args)]
struct JobArgs {
    /// Job id
    #[arg(value_name = "JOB")]
    id: String,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(crate) fn run(args: Args, session: &Session) -> Result<(), Diagnostic> {
    match args.command {
        Command::Start(args) => start::run(&args, session),
        Command::List(args) => list::run(&args, session),
        Command::Show(args) => show::run(&args, session),
        Command::Watch(args) => watch::run(&args, session),
        Command::Cancel(args) => cancel::run(&args, session),
    }
}

fn path(id: &str) -> Result<String, Diagnostic> {
    let is_id = !id.is_empty()
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_id {
        return Ok(format!("/research/jobs/{id}"));
    }
    Err(Diagnostic::usage(format!("invalid job id `{}`", printable(id)))
        .hint("list jobs with `agent research list`"))
}
