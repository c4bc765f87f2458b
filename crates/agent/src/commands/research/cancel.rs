//! `agent research cancel`: a job is ended.

use serde_json::json;
use task_loop::member::MemberRequest;
use task_loop::untrusted::printable;
use wire::research::JobView;

use super::{JobArgs, path};
use crate::diagnostic::Diagnostic;
use crate::member::retry::RetryingMember;
use crate::runtime::block_on;
use crate::session::Session;

/// Cancel a job
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A job cancelled before its first paid step is free. Finished jobs do not change.

Examples:
  agent research cancel job_0123")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let path = path(&args.job.id)?;
    let service = RetryingMember::find(session, args.job.waiting)?;
    let ask = MemberRequest::post(format!("{path}/cancel"), &json!({})).repeatable();
    let answer = block_on(service.ask(ask))?;
    if session.output.is_json() {
        return service.print(&answer);
    }
    let job: JobView = service.read(&answer)?;
    let (id, status) = (printable(&job.id), printable(&job.status));
    session.output.text(match status.as_str() {
        "cancelled" => format!("{id} is cancelled\n"),
        _ => format!("{id} had already ended: {status}\n"),
    })
}
