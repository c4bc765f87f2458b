//! `agent research list`: jobs, newest first.

use task_loop::member::credits;
use task_loop::untrusted::{escaped_lines, printable};
use wire::research::{JobList, JobView};

use super::path;
use crate::diagnostic::Diagnostic;
use crate::duration::moment;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::output::DIM;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{Alignment, Table};

/// How much of a question is shown, in characters.
const MAX_QUERY_CHARS: usize = 70;

/// List your jobs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent research list
  agent research list --limit 100
  agent research list --after job_0123
  agent research list --json")]
pub(crate) struct Args {
    /// Number of jobs, at most 100 [default: 20]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// List jobs after this one
    #[arg(long, value_name = "JOB")]
    after: Option<String>,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
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
    if session.output.is_json() {
        return service.print(&answer);
    }
    let jobs: JobList = service.read(&answer)?;
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

/// A line for each job, and its question below.
fn text(jobs: &[JobView]) -> String {
    let mut table = Table::new([
        ("job", Alignment::Left),
        ("status", Alignment::Left),
        ("credits", Alignment::Right),
        ("queued", Alignment::Left),
    ]);
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
    let one_line = words.join(" ");
    if one_line.chars().count() <= MAX_QUERY_CHARS {
        return one_line;
    }
    one_line.chars().take(MAX_QUERY_CHARS - 1).chain(['…']).collect()
}
