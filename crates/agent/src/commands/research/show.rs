//! `agent research show`: a job and its report.

use wire::research::JobView;

use super::{JobArgs, path, report};
use crate::diagnostic::Diagnostic;
use crate::member::retry::RetryingMember;
use crate::runtime::block_on;
use crate::session::Session;

/// Show the report or the progress of a job
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The report goes to stdout as Markdown, formatted on a terminal; messages go to stderr. Use -v to \
list the steps.

Examples:
  agent research show job_0123
  agent research show job_0123 > report.md
  agent research show job_0123 -v")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let path = path(&args.job.id)?;
    let service = RetryingMember::find(session, args.job.waiting)?;
    let answer = block_on(service.get(&path))?;
    if session.output.is_json() {
        return service.print(&answer);
    }
    let job: JobView = service.read(&answer)?;
    report::show(&job, session)
}
