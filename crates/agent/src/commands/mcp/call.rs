//! `agent mcp call`: one call of one tool.

mod arguments;
mod result;
mod target;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::config::ServerEntry;
use mcp_client::registry::RegisteredTool;
use mcp_client::session::CallOptions;
use mcp_client::supervisor::ServerState;
use mcp_client::{Client, Error, Progress};
use serde_json::Value;
use task_loop::metrics::TaskMetrics;
use task_loop::server_requests::{SamplingModel, ServerRequests};
use task_loop::untrusted::printable;
use task_loop::{Sanitizer, nearest};
use usage_metrics::catalogue::{Entrypoint, ExecutionSurface};
use usage_metrics::recorder::Recorder;

use self::target::Target;
use crate::diagnostic::{Diagnostic, Exit};
use crate::mcp::McpServers;
use crate::mcp::advice::test;
use crate::mcp::approval::{PersonApprover, PreApproved};
use crate::mcp::reporter::{MessageSink, Reporter};
use crate::member::Member;
use crate::member::settings::Settings;
use crate::metrics_recorder;
use crate::session::Session;
use crate::terminal_person::TerminalPerson;

const MAX_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;

/// Call a tool and print its result
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Connects only to the server of the tool. Ctrl-C cancels the call.

Exit codes: 0 success, 1 the tool failed or does not exist, 2 invalid arguments, 3 invalid \
configuration, 4 sign-in required, 5 the server failed, 130 Ctrl-C.

Examples:
  agent mcp call mcp__files__read_text_file '{\"path\": \"notes.txt\"}'
  agent mcp call files/read_text_file --arg path=notes.txt
  echo '{\"path\": \"notes.txt\"}' | agent mcp call files/read_text_file -")]
pub(crate) struct Args {
    /// Tool name, `mcp__SERVER__TOOL` or `SERVER/TOOL`
    tool: String,
    /// Arguments as a JSON object; `-` reads stdin
    #[arg(value_name = "JSON", conflicts_with = "arg")]
    arguments: Option<String>,
    /// One argument; the value is JSON or a string
    #[arg(long, value_name = "KEY=VALUE")]
    arg: Vec<String>,
    /// Approve this call and model requests of its server
    #[arg(long)]
    approve: bool,
    /// Timeout without progress in seconds [default: the server's `timeout`]
    #[arg(long, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=MAX_TIMEOUT_SECONDS))]
    timeout: Option<u64>,
    /// Folder for files of the result [default: a new temporary folder]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let arguments = arguments::read(args.arguments.as_deref(), &args.arg)?;
    let mut fleet = McpServers::load(session, MessageSink::Notes)?;
    fleet.with_browser(session);
    let target = Target::find(&args.tool, &fleet.servers)?;
    for entry in &target.servers {
        fleet.servers.tell_problems_of(&entry.name, session);
    }
    let person = TerminalPerson::find(&session.output, &fleet);
    let names = target.servers.iter().map(|entry| entry.name.clone());
    let approved = if args.approve { names.collect() } else { BTreeSet::new() };
    let recorder = metrics_recorder::recorder(session)?;
    let models = models(&fleet, &recorder, session)?;
    fleet.host.requests = Arc::new(ServerRequests::new(person.clone(), approved, models));
    let asking = PersonApprover::new(person);
    if args.approve {
        fleet.approved_by(Arc::new(PreApproved));
    } else {
        fleet.approved_by(Arc::clone(&asking) as Arc<_>);
    }
    let call = Call { fleet: &fleet, target: &target, args, asking: &asking };
    let entries = target.servers.clone();
    let done = fleet.run(entries, async |client| call.make(client, arguments).await);
    metrics_recorder::close(&recorder);
    let (tool, outcome) = done?;
    result::show(&tool, &outcome, args.output.as_deref(), &fleet.shown, session)
}

/// The model that answers the server, where a service is configured.
fn models(
    fleet: &McpServers,
    recorder: &Recorder,
    session: &Session,
) -> Result<SamplingModel, Diagnostic> {
    let settings = Settings::load(session)?;
    let Some(key) = &settings.key else { return Ok(SamplingModel::None) };
    let secret = (key.value.label.clone(), key.value.value().to_owned());
    fleet.host.redactor.add_secrets([secret]);
    let counting = TaskMetrics {
        recorder: recorder.clone(),
        entrypoint: Entrypoint::Interactive,
        surface: ExecutionSurface::Cli,
    };
    let model = settings.model.as_ref().map(|model| model.value.clone());
    let member = Member::of(settings, session)?.client;
    Ok(SamplingModel::OfService { member, model, metrics: counting })
}

struct Call<'a> {
    fleet: &'a McpServers,
    target: &'a Target,
    args: &'a Args,
    asking: &'a PersonApprover,
}

impl Call<'_> {
    async fn make(
        &self,
        client: &Client,
        arguments: Value,
    ) -> Result<(RegisteredTool, mcp_client::content::ToolOutcome), Diagnostic> {
        let reporter = &self.fleet.reporter;
        let names: Vec<&str> = self.target.servers.iter().map(|entry| &*entry.name).collect();
        reporter.waiting_for(format!("connecting {}", names.join(", ")));
        client.wait_until_settled(self.fleet.patience(&self.target.servers)).await;
        let registry = client.registry();
        let Some(entry) = self.target.lookup(&registry) else {
            return Err(self.not_there(client));
        };
        arguments::check(entry, &arguments)?;
        reporter.waiting_for(format!("calling {}", entry.name));
        let options = CallOptions {
            progress: Some(progress(Arc::clone(reporter), self.fleet.shown.clone())),
            timeout: self.args.timeout.map(Duration::from_secs),
            approved: None,
        };
        let called = client.call(&entry.name, arguments, options).await;
        reporter.done_waiting();
        match called {
            Ok(outcome) => Ok((entry.clone(), outcome)),
            Err(error) => Err(self.failed(entry, &error)),
        }
    }

    /// Why the tool is not there: its server is not, or it does not have it.
    fn not_there(&self, client: &Client) -> Diagnostic {
        let statuses = client.status();
        for entry in &self.target.servers {
            let status = statuses.iter().find(|status| status.server == entry.name);
            if let Some(why) = status.and_then(|status| self.fleet.unusable(entry, status)) {
                return why;
            }
        }
        let registry = client.registry();
        let left_out = |native: &str, reason: &str| {
            let reason = self.fleet.shown.line(reason);
            Diagnostic::failed(format!("`{}` cannot be used: {reason}", printable(native)))
        };
        for status in &statuses {
            if let Some(tool) = status.quarantined.iter().find(|tool| self.target.is(&tool.name)) {
                return left_out(&tool.name, &tool.reason);
            }
        }
        if let Some(tool) = registry.skipped().iter().find(|tool| self.target.is(&tool.native_name))
        {
            return left_out(&tool.native_name, &tool.reason);
        }
        for status in &statuses {
            if let ServerState::Degraded { reason } = &status.state {
                let what = printable(&self.args.tool);
                let mut diagnostic = Diagnostic::peer(format!("cannot find `{what}`"));
                let reason = self.fleet.shown.first_line(reason);
                diagnostic.causes.push(format!("server `{}`: {reason}", status.server));
                return diagnostic
                    .hint(format!("test it step by step with `{}`", test(&status.server)));
            }
        }
        let names: Vec<&str> = match self.target.native {
            Some(_) => registry.entries().map(RegisteredTool::native_name).collect(),
            None => registry.entries().map(|entry| &*entry.name).collect(),
        };
        let wanted = self.target.native.as_deref().unwrap_or(&self.args.tool);
        let message = format!("unknown tool `{}`", printable(&self.args.tool));
        let mut diagnostic = Diagnostic::failed(message);
        let notes = statuses.iter().flat_map(|status| &status.notes);
        diagnostic.causes.extend(notes.map(|note| self.fleet.shown.first_line(note)));
        diagnostic.hint(match nearest(wanted, names) {
            Some(near) => format!("did you mean `{}`?", printable(near)),
            None => "list tools with `agent mcp tools`; `tools.include` and `tools.exclude` may \
                     hide it"
                .to_owned(),
        })
    }

    fn failed(&self, tool: &RegisteredTool, error: &Error) -> Diagnostic {
        let server = self.target.servers.iter().find(|entry| *entry.name == *tool.server);
        if let Error::NotApproved { .. } = error {
            let diagnostic = Diagnostic::failed(error.to_string());
            return if self.asking.asked() {
                diagnostic
            } else {
                diagnostic
                    .hint("no terminal to ask for approval; approve this call with --approve")
                    .hint(format!("approve all its calls with `trust: full` for {}", tool.server))
            };
        }
        let Some(server) = server else { return Diagnostic::failed(error.to_string()) };
        self.told(server, error)
    }

    fn told(&self, server: &ServerEntry, error: &Error) -> Diagnostic {
        let mut diagnostic = self.fleet.trouble(server, error);
        if let Error::CallTimeout { .. } | Error::CallTooLong { .. } = error {
            diagnostic.exit = Exit::Peer;
        }
        diagnostic
    }
}

/// Shows on a terminal how far the call is.
fn progress(reporter: Arc<Reporter>, shown: Sanitizer) -> mcp_client::ProgressSink {
    Arc::new(move |progress: Progress| {
        let far = match progress.total {
            Some(total) => format!("{} of {total}", progress.done),
            None => progress.done.to_string(),
        };
        let message = progress.message.map(|text| format!(" {}", shown.line(&text)));
        reporter.waiting_for(format!("{far}{}", message.unwrap_or_default()));
    })
}
