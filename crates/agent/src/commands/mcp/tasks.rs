//! `agent mcp tasks`: calls that servers run as tasks, after the client has exited.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use mcp_client::config::ServerEntry;
use mcp_client::session::CallOptions;
use mcp_client::{Client, Error};
use serde_json::{Value, json};
use task_loop::server_requests::{SamplingModel, ServerRequests};
use task_loop::untrusted::printable;

use super::call::{progress, result};
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::mcp::McpServers;
use crate::mcp::reporter::MessageSink;
use crate::mcp::task_file::KeptTask;
use crate::output::GOOD;
use crate::session::Session;
use crate::table::Table;
use crate::terminal_person::TerminalPerson;

/// List, finish or cancel calls that run as tasks
#[derive(Debug, Subcommand)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Some tools run as a task at their server, which continues if this program is killed. The tasks that \
are not known to have ended are in mcp-tasks.json of the profile.

Examples:
  agent mcp tasks list
  agent mcp tasks result 786512e2
  agent mcp tasks cancel 786512e2"
)]
pub(crate) enum Command {
    List(ListArgs),
    Result(ResultArgs),
    Cancel(CancelArgs),
}

/// List the tasks and ask their servers for the state
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A task that its server no longer knows is listed once more and then forgotten.

Examples:
  agent mcp tasks list
  agent mcp tasks list --no-connect --json")]
pub(crate) struct ListArgs {
    /// List without connecting to servers
    #[arg(long)]
    no_connect: bool,
}

/// Wait for the end of a task and print its result
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ctrl-C stops waiting; the task continues.

Examples:
  agent mcp tasks result 786512e2
  agent mcp tasks result 786512e2 --output results --json")]
pub(crate) struct ResultArgs {
    /// Task ID, or the beginning of it
    id: String,
    /// Folder for files of the result [default: a new temporary folder]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Ask the server to cancel a task
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  agent mcp tasks cancel 786512e2")]
pub(crate) struct CancelArgs {
    /// Task ID, or the beginning of it
    id: String,
}

pub(crate) fn run(command: &Command, session: &Session) -> Result {
    let fleet = McpServers::load(session, MessageSink::Notes)?;
    let kept = fleet.tasks.read().or_failed("cannot read the tasks")?;
    match command {
        Command::List(args) => list(&kept, args, &fleet, session),
        Command::Result(args) => finish(&found(kept, &args.id)?, args, fleet, session),
        Command::Cancel(args) => cancel(&found(kept, &args.id)?, &fleet, session),
    }
}

fn found(kept: Vec<KeptTask>, id: &str) -> Result<KeptTask> {
    let mut fitting: Vec<KeptTask> =
        kept.into_iter().filter(|kept| kept.task.id.starts_with(id)).collect();
    if let Some(exact) = fitting.iter().position(|kept| kept.task.id == id) {
        return Ok(fitting.swap_remove(exact));
    }
    let what = printable(id);
    match fitting.pop() {
        None => Err(Diagnostic::usage(format!("unknown task `{what}`"))
            .hint("list the tasks with `agent mcp tasks list`")),
        Some(only) if fitting.is_empty() => Ok(only),
        Some(_) => Err(Diagnostic::usage(format!("several tasks begin with `{what}`"))),
    }
}

fn list(kept: &[KeptTask], args: &ListArgs, fleet: &McpServers, session: &Session) -> Result {
    let names: BTreeSet<&str> = kept.iter().map(|kept| &*kept.task.server).collect();
    let entries = fleet.servers.enabled().filter(|entry| names.contains(&*entry.name));
    let entries: Vec<ServerEntry> = entries.cloned().collect();
    let states = if args.no_connect || kept.is_empty() {
        vec![None; kept.len()]
    } else {
        connected(fleet, entries, async |client| {
            let mut states = Vec::new();
            for kept in kept {
                states.push(Some(match client.task_state(&kept.task).await {
                    Ok(state) => state.to_string(),
                    Err(Error::Rpc(_)) => "unknown to the server".to_owned(),
                    Err(error) => error.to_string(),
                }));
            }
            Ok(states)
        })?
    };
    let json = kept.iter().zip(&states).map(|(kept, state)| {
        let mut task = json!(kept);
        task["state"] = json!(state);
        task
    });
    let json = fleet.shown.json(json!({ "tasks": json.collect::<Value>() }));
    let rows = kept.iter().zip(&states).map(|(kept, state)| {
        [
            fleet.shown.line(&kept.task.id),
            printable(&kept.task.tool),
            kept.started.clone(),
            kept.conversation.clone().unwrap_or_default(),
            state.as_ref().map_or_else(|| "-".to_owned(), |state| fleet.shown.line(state)),
        ]
    });
    let table = Table::new(["id", "tool", "started", "conversation", "state"]).rows(rows);
    table.print(&session.output, &json, "No tasks.")
}

fn finish(kept: &KeptTask, args: &ResultArgs, mut fleet: McpServers, session: &Session) -> Result {
    fleet.with_browser(session);
    let person = TerminalPerson::find(&session.output, &fleet);
    let requests = ServerRequests::new(person, BTreeSet::new(), SamplingModel::None);
    fleet.host.requests = Arc::new(requests);
    let entry = fleet.servers.find(&kept.task.server)?.entry.clone();
    let (tool, outcome) = connected(&fleet, vec![entry.clone()], async |client| {
        let registry = client.registry();
        let Some(tool) = registry.lookup(&kept.task.tool) else {
            let status = client.status();
            let why = status.first().and_then(|status| fleet.unusable(&entry, status));
            let gone = || Diagnostic::failed(format!("the server has no tool {}", kept.task.tool));
            return Err(why.unwrap_or_else(gone));
        };
        fleet.reporter.waiting_for(format!("waiting for {}", tool.name));
        let options = CallOptions { progress: Some(progress(&fleet)), ..CallOptions::default() };
        let outcome = client.task_result(&kept.task, &options).await;
        Ok((tool.clone(), outcome.map_err(|error| fleet.problem(&entry, &error))?))
    })?;
    result::show(&tool, &outcome, args.output.as_deref(), &fleet.shown, session)
}

fn cancel(kept: &KeptTask, fleet: &McpServers, session: &Session) -> Result {
    let entry = fleet.servers.find(&kept.task.server)?.entry.clone();
    connected(fleet, vec![entry.clone()], async |client| {
        let cancelled = client.cancel_task(&kept.task).await;
        cancelled.map_err(|error| fleet.problem(&entry, &error))
    })?;
    if session.output.is_json() {
        return session.output.json(&json!({ "cancelled": kept.task.id }));
    }
    session.output.note(format!("{GOOD}cancelled{GOOD:#} {}", fleet.shown.line(&kept.task.id)));
    Ok(())
}

fn connected<T>(
    fleet: &McpServers,
    entries: Vec<ServerEntry>,
    work: impl AsyncFnOnce(&Client) -> Result<T>,
) -> Result<T> {
    let patience = fleet.patience(&entries);
    fleet.run(entries, async |client| {
        fleet.settle(client, patience).await;
        work(client).await
    })
}
