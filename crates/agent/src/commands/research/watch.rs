//! `agent research watch`: follows a job to its end.

mod follow;

use indicatif::ProgressBar;
use serde_json::Value;
use task_loop::member::credits;
use task_loop::untrusted::printable;
use wire::research::JobView;

use self::follow::follow;
use super::report::step_line;
use super::{JobArgs, path, report};
use crate::diagnostic::{Diagnostic, Exit};
use crate::member::retry::RetryingMember;
use crate::runtime::block_on;
use crate::session::Session;

/// Follow a job and print its report
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Progress goes to stderr, the report to stdout; --json prints one event per line to stdout. The \
command reconnects if the connection breaks. Ctrl-C leaves the job running.

Exit codes: 0 completed, 1 failed, expired or cancelled, 5 the service is unavailable, 130 Ctrl-C.

Examples:
  agent research watch job_0123
  agent research watch job_0123 > report.md
  agent research watch job_0123 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let service = RetryingMember::find(session, args.job.waiting)?;
    watch(&service, &args.job.id, session)
}

/// Follows a job and prints its report or its failure.
pub(super) fn watch(
    service: &RetryingMember<'_>,
    id: &str,
    session: &Session,
) -> Result<(), Diagnostic> {
    let path = path(id)?;
    let mut viewer = Viewer { session, line: session.output.spinner() };
    let followed = block_on(async {
        follow(service, &path, &mut viewer).await?;
        viewer.line.finish_and_clear();
        service.get(&path).await
    });
    viewer.line.finish_and_clear();
    let answer = followed.map_err(|diagnostic| left(diagnostic, id))?;
    let job: JobView = service.read(&answer)?;
    if !session.output.is_json() && job.report.is_some() {
        report::show(&job, session)?;
    }
    ended(&job)
}

fn ended(job: &JobView) -> Result<(), Diagnostic> {
    let status = printable(&job.status);
    let cost = match job.charge_micros {
        None | Some(0) => "nothing was charged".to_owned(),
        Some(charge) => format!("{} credits were charged", credits(charge)),
    };
    match (status.as_str(), &job.error) {
        ("completed", _) => Ok(()),
        ("cancelled", _) => Err(Diagnostic::failed(format!("the job was cancelled; {cost}"))),
        (_, Some(error)) => {
            let mut diagnostic = Diagnostic::failed(format!("the job {status}; {cost}"));
            let (message, code) = (printable(&error.message), printable(&error.code));
            diagnostic.causes.push(format!("{message} ({code})"));
            Err(diagnostic)
        }
        (_, None) => Err(Diagnostic::failed(format!("the job {status}; {cost}"))),
    }
}

/// Adds how to resume watching.
fn left(diagnostic: Diagnostic, id: &str) -> Diagnostic {
    let goes_on = matches!(diagnostic.exit, Exit::Interrupted | Exit::Peer | Exit::Terminated);
    if !goes_on {
        return diagnostic;
    }
    diagnostic
        .hint(format!("the job is still running; follow it with `agent research watch {id}`"))
        .hint(format!("cancel it with `agent research cancel {id}`"))
}

struct Viewer<'a> {
    session: &'a Session,
    line: ProgressBar,
}

impl Viewer<'_> {
    fn see(&self, kind: &str, event: &Value) -> Result<(), Diagnostic> {
        let output = &self.session.output;
        if output.is_json() {
            return output.json_line(event);
        }
        let step = &event["step"];
        let name = step["kind"].as_str().unwrap_or_default();
        match kind {
            "queued" => self.now("queued"),
            "running" => self.now("running"),
            "step.started" => self.now(&printable(name)),
            "step.finished" => {
                let progress = &event["progress"];
                let (done, total) = (progress["done"].as_u64(), progress["total"].as_u64());
                let far = format!("[{}/{}]", done.unwrap_or(0), total.unwrap_or(0));
                self.say(&format!("{far} {}", step_line(name, &step["detail"])));
            }
            "step.failed" => {
                let why = event["error"]["message"].as_str().unwrap_or("unknown error");
                let pause = event["retry_in_seconds"].as_u64().unwrap_or(0);
                let again = format!("retrying in {pause} s");
                self.say(&format!("{}: {}; {again}", printable(name), printable(why)));
            }
            other => self.now(&printable(other)),
        }
        Ok(())
    }

    fn say(&self, text: &str) {
        self.line.suspend(|| self.session.output.note(text));
    }

    fn now(&self, text: &str) {
        self.line.set_message(format!("{text} …"));
        self.line.tick();
    }
}
