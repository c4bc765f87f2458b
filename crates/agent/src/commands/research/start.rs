//! `agent research start`: a job is queued.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;
use task_loop::member::credits;
use task_loop::untrusted::printable;
use wire::research::{Depth, JobView, ResearchRequest};

use super::watch::watch;
use crate::diagnostic::Diagnostic;
use crate::key_value;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::runtime::block_on;
use crate::session::Session;

/// Start a job and print its id
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent research start \"Why is the sky blue?\"
  agent research start \"Why is the sky blue?\" --depth deep --watch > report.md
  agent research start \"Why is the sky blue?\" --metadata ticket=42 \\
    --webhook https://example.com/told")]
pub(crate) struct Args {
    /// Question
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Chat model [default: the operator's choice]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Thoroughness [default: standard]
    #[arg(long, value_name = "DEPTH",
          value_parser = PossibleValuesParser::new(["quick", "standard", "deep"]).try_map(depth))]
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

fn depth(word: String) -> Result<Depth, serde_json::Error> {
    serde_json::from_value(Value::String(word))
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
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
