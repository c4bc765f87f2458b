//! `agent research show`: a job and its report.

use wire::research::JobView;

use super::{JobArgs, path, report};
use crate::diagnostic::Diagnostic;
use crate::member::retry::RetryingMember;
use crate::runtime::block_on;
use crate::session::Session;

/// Show a job: its report once there is one, else how far it is
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The report, with its sources, goes to standard output: as Markdown, or on a \
                  terminal as \
        that is meant to look. Everything else goes to standard error; -v tells the \
                        steps.\n\n\
        Examples:\n  agent research show job_0123\n  agent research show job_0123 > report.md\n  \
                        agent research show job_0123 -v"
)]
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
