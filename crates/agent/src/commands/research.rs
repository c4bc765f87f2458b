//! `agent research`: background jobs that search, read and write a report.

mod report;
mod watch;

use clap::Subcommand;
use serde_json::json;
use task_loop::member::{MemberRequest, credits};
use task_loop::untrusted::{escaped_lines, printable};
use wire::research::{Depth, JobList, JobView, ResearchRequest};

use self::watch::watch;
use crate::diagnostic::{Diagnostic, Result};
use crate::duration::moment;
use crate::key_value::{self, words};
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::output::DIM;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::Table;
use crate::task_printer::shortened;

const MAX_QUERY_CHARS: usize = 70;
const DEPTHS: [&str; 3] = ["quick", "standard", "deep"];

/// Research questions and read the reports
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Jobs run in the service and continue when you disconnect. A job is charged when its report is \
complete, or when it is cancelled after its first paid step. A failed job is free.

Examples:
  agent research start \"Which files can be searched?\" --watch
  agent research list
  agent research show job_0123 > report.md
  agent research watch job_0123")]
pub(crate) enum Command {
    Start(Start),
    List(List),
    /// Show the report or the progress of a job
    #[command(after_help = "\
The report goes to stdout as Markdown, formatted on a terminal; messages go to stderr. Use -v to \
list the steps.

Examples:
  agent research show job_0123
  agent research show job_0123 > report.md
  agent research show job_0123 -v")]
    Show(JobArgs),
    /// Follow a job and print its report
    #[command(after_help = "\
Progress goes to stderr, the report to stdout; --json prints one event per line to stdout. The \
command reconnects if the connection breaks. Ctrl-C leaves the job running.

Exit codes: 0 completed, 1 failed, expired or cancelled, 5 the service is unavailable, 130 Ctrl-C.

Examples:
  agent research watch job_0123
  agent research watch job_0123 > report.md
  agent research watch job_0123 --json")]
    Watch(JobArgs),
    /// Cancel a job
    #[command(after_help = "\
A job cancelled before its first paid step is free. Finished jobs do not change.

Examples:
  agent research cancel job_0123")]
    Cancel(JobArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// Job id
    #[arg(value_name = "JOB")]
    id: String,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(crate) fn run(command: Command, session: &Session) -> Result {
    match command {
        Command::Start(args) => start(&args, session),
        Command::List(args) => list(&args, session),
        Command::Show(args) => show(&args, session),
        Command::Watch(args) => watch::run(&args, session),
        Command::Cancel(args) => cancel(&args, session),
    }
}

impl JobArgs {
    fn service<'a>(&self, session: &'a Session) -> Result<RetryingMember<'a>> {
        let service = RetryingMember::find(session, self.waiting)?;
        Ok(service.about(format!("job {}", printable(&self.id)), "agent research list"))
    }
}

fn path(id: &str) -> Result<String> {
    let is_id = !id.is_empty()
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_id {
        return Ok(format!("/research/jobs/{id}"));
    }
    Err(Diagnostic::usage(format!("invalid job id `{}`", printable(id)))
        .hint("list jobs with `agent research list`"))
}

fn show(job: &JobArgs, session: &Session) -> Result {
    let path = path(&job.id)?;
    let service = job.service(session)?;
    let answer = block_on(service.get(&path))?;
    let Some(job) = service.read_or_print(&answer)? else { return Ok(()) };
    report::show(&job, session)
}

fn cancel(job: &JobArgs, session: &Session) -> Result {
    let path = path(&job.id)?;
    let service = job.service(session)?;
    let ask = MemberRequest::post(format!("{path}/cancel"), &json!({})).repeatable();
    let answer = block_on(service.ask(ask))?;
    let Some(job) = service.read_or_print::<JobView>(&answer)? else { return Ok(()) };
    let (id, status) = (printable(&job.id), printable(&job.status));
    session.output.text(match status.as_str() {
        "cancelled" => format!("{id} is cancelled\n"),
        _ => format!("{id} had already ended: {status}\n"),
    })
}

/// Start a job and print its id
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent research start \"Why is the sky blue?\"
  agent research start \"Why is the sky blue?\" --depth deep --watch > report.md
  agent research start \"Why is the sky blue?\" --metadata ticket=42 \\
    --webhook https://example.com/research-done")]
pub(crate) struct Start {
    /// Question
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Chat model [default: the operator's choice]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Thoroughness [default: standard]
    #[arg(long, value_name = "DEPTH", value_parser = words::<Depth>(DEPTHS))]
    depth: Option<Depth>,
    /// Maximum number of pages to read, within the limit of the depth
    #[arg(long, value_name = "N")]
    max_sources: Option<u32>,
    /// URL to notify when the job ends
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Metadata to attach to the job; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    metadata: Vec<String>,
    /// Follow the job and print its report
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    waiting: RetryOptions,
}

fn start(args: &Start, session: &Session) -> Result {
    let metadata = key_value::object(&args.metadata, "key")?;
    let service = RetryingMember::find(session, args.waiting)?;
    let request = ResearchRequest {
        query: args.query.join(" "),
        model: args.model.clone(),
        depth: args.depth,
        max_sources: args.max_sources,
        webhook_url: args.webhook.clone(),
        metadata: (!metadata.is_empty()).then_some(metadata),
    };
    let answer = block_on(service.pay("/research/jobs", &request))?;
    let job: JobView = service.read(&answer)?;
    let id = printable(&job.id);
    if !args.watch && session.output.is_json() {
        return service.print(&answer);
    }
    session.output.note(format!("queued for {}", printable(&job.model)));
    if let Some(price) = answer.price_micros() {
        let price = credits(price);
        session.output.note(format!("held: {price} credits, charged when it completes"));
    }
    if args.watch {
        session.output.note(format!("job: {id}"));
        return watch(&service, &job.id, session);
    }
    session.output.text(format!("{id}\n"))?;
    session.output.note(format!("follow it with `agent research watch {id}`"));
    Ok(())
}

/// List your jobs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent research list
  agent research list --limit 100
  agent research list --after job_0123
  agent research list --json")]
pub(crate) struct List {
    /// Number of jobs, at most 100 [default: 20]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// List jobs after this one
    #[arg(long, value_name = "JOB")]
    after: Option<String>,
    #[command(flatten)]
    waiting: RetryOptions,
}

fn list(args: &List, session: &Session) -> Result {
    let mut query = Vec::new();
    if let Some(limit) = args.limit {
        query.push(format!("limit={limit}"));
    }
    if let Some(after) = &args.after {
        path(after)?;
        query.push(format!("after={after}"));
    }
    let service = RetryingMember::find(session, args.waiting)?;
    let asked = if query.is_empty() {
        "/research/jobs".to_owned()
    } else {
        format!("/research/jobs?{}", query.join("&"))
    };
    let answer = block_on(service.get(&asked))?;
    let Some(jobs) = service.read_or_print::<JobList>(&answer)? else { return Ok(()) };
    if jobs.data.is_empty() {
        session.output.note("No jobs. Start one with `agent research start`.");
        return Ok(());
    }
    session.output.text(text(&jobs.data))?;
    if let Some(last) = jobs.last_id.filter(|_| jobs.has_more) {
        let more = format!("more jobs: agent research list --after {}", printable(&last));
        session.output.note(more);
    }
    Ok(())
}

fn text(jobs: &[JobView]) -> String {
    let mut table = Table::new(["job", "status", "credits", "queued"]).align_right(&["credits"]);
    for job in jobs {
        let cost = job.charge_micros.map(credits);
        let (done, total) = (job.progress.done, job.progress.total);
        let is_on = job.finished_at.is_none() && total > 0;
        let far = if is_on { format!(" {done}/{total}") } else { String::new() };
        table.row([
            job.id.clone(),
            format!("{}{far}", job.status),
            cost.unwrap_or_else(|| "-".to_owned()),
            moment(&job.created_at),
        ]);
    }
    let questions = jobs.iter().map(|job| short(&job.query));
    let questions = questions.map(|question| format!("    {DIM}{question}{DIM:#}\n"));
    table.with_below(questions)
}

fn short(query: &str) -> String {
    let words: Vec<String> = query.split_whitespace().map(escaped_lines).collect();
    shortened(&words.join(" "), MAX_QUERY_CHARS)
}
