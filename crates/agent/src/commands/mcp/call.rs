//! `agent mcp call`: calls a tool.

pub(super) mod result;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::config::ServerEntry;
use mcp_client::registry::{RegisteredTool, Registry};
use mcp_client::session::CallOptions;
use mcp_client::supervisor::ServerState;
use mcp_client::tool_name::{MAX_NAME_CHARS, registered_name};
use mcp_client::{Client, Error, Progress};
use serde_json::Value;
use task_loop::metrics::TaskMetrics;
use task_loop::nearest;
use task_loop::server_requests::{SamplingModel, ServerRequests};
use task_loop::untrusted::printable;
use usage_metrics::catalogue::{Entrypoint, ExecutionSurface};
use usage_metrics::recorder::Recorder;

use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::mcp::advice::{operand_with, test};
use crate::mcp::approval::PersonApprover;
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, Servers, disabled};
use crate::member::Member;
use crate::member::settings::Settings;
use crate::prompt::standard_input;
use crate::session::Session;
use crate::terminal_person::TerminalPerson;
use crate::{key_value, metrics_recorder};

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

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let arguments = match args.arguments.as_deref() {
        None => key_value::object(&args.arg, "argument").map(Value::Object),
        Some("-") => parse(&standard_input(MAX_BYTES)?),
        Some(text) => parse(text),
    }?;
    let mut fleet = McpServers::load(session, MessageSink::Notes)?;
    fleet.with_browser(session);
    let target = Target::find(&args.tool, &fleet.servers)?;
    for entry in &target.servers {
        fleet.servers.report_problems_of(&entry.name, session);
    }
    let person = TerminalPerson::find(&session.output, &fleet);
    let names = target.servers.iter().map(|entry| entry.name.clone());
    let approved = if args.approve { names.collect() } else { BTreeSet::new() };
    let recorder = metrics_recorder::recorder(session)?;
    let models = models(&fleet, &recorder, session)?;
    fleet.host.requests = Arc::new(ServerRequests::new(person.clone(), approved, models));
    let has_person = person.is_some();
    if let Some(person) = person {
        fleet.host.approver = Arc::new(PersonApprover(person));
    }
    let call = Call { fleet: &fleet, target: &target, args, has_person };
    let entries = target.servers.clone();
    let done = fleet.run(entries, async |client| call.send(client, arguments).await);
    metrics_recorder::close(&recorder);
    let (tool, outcome) = done?;
    result::show(&tool, &outcome, args.output.as_deref(), &fleet.shown, session)
}

/// The model for sampling requests of the server, if a service is configured.
fn models(fleet: &McpServers, recorder: &Recorder, session: &Session) -> Result<SamplingModel> {
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
    has_person: bool,
}

impl Call<'_> {
    async fn send(
        &self,
        client: &Client,
        arguments: Value,
    ) -> Result<(RegisteredTool, mcp_client::content::ToolOutcome)> {
        let reporter = &self.fleet.reporter;
        self.fleet.settle(client, self.fleet.patience(&self.target.servers)).await;
        let registry = client.registry();
        let Some(entry) = self.target.lookup(&registry) else {
            return Err(self.not_there(client));
        };
        check_arguments(entry, &arguments)?;
        reporter.waiting_for(format!("calling {}", entry.name));
        let options = CallOptions {
            progress: Some(progress(self.fleet)),
            timeout: self.args.timeout.map(Duration::from_secs),
            approved: self.args.approve.then(|| entry.digest()),
        };
        let called = client.call(&entry.name, arguments, options).await;
        reporter.done_waiting();
        match called {
            Ok(outcome) => Ok((entry.clone(), outcome)),
            Err(error) => Err(self.failed(entry, &error)),
        }
    }

    /// Why the tool is missing: its server is unavailable, or does not have it.
    fn not_there(&self, client: &Client) -> Diagnostic {
        let failed = self.fleet.failures(client, &self.target.servers).into_iter().next();
        if let Some((_, why)) = failed {
            return why;
        }
        let (statuses, registry) = (client.status(), client.registry());
        let quarantined = statuses.iter().flat_map(|status| &status.quarantined);
        let left_out = quarantined.map(|tool| (&tool.name, &tool.reason));
        let skipped = registry.skipped().iter().map(|tool| (&tool.native_name, &tool.reason));
        if let Some((native, reason)) = left_out.chain(skipped).find(|it| self.target.is(it.0)) {
            let (native, reason) = (printable(native), self.fleet.shown.line(reason));
            return Diagnostic::failed(format!("`{native}` cannot be used: {reason}"));
        }
        for status in &statuses {
            if let ServerState::Degraded { reason } = &status.state {
                let reason = self.fleet.shown.first_line(reason);
                return Diagnostic::peer(format!("cannot find `{}`", printable(&self.args.tool)))
                    .cause(format!("server `{}`: {reason}", status.server))
                    .hint(format!("test it step by step with `{}`", test(&status.server)));
            }
        }
        let names: Vec<&str> = match self.target.native {
            Some(_) => registry.entries().map(RegisteredTool::native_name).collect(),
            None => registry.entries().map(|entry| &*entry.name).collect(),
        };
        let wanted = self.target.native.as_deref().unwrap_or(&self.args.tool);
        let notes = statuses.iter().flat_map(|status| &status.notes);
        Diagnostic::failed(format!("unknown tool `{}`", printable(&self.args.tool)))
            .causes(notes.map(|note| self.fleet.shown.first_line(note)))
            .did_you_mean(
                nearest(wanted, names),
                "list tools with `agent mcp tools`; `tools.include` and `tools.exclude` may hide \
                 it",
            )
    }

    fn failed(&self, tool: &RegisteredTool, error: &Error) -> Diagnostic {
        let server = self.target.servers.iter().find(|entry| *entry.name == *tool.server);
        if let Error::NotApproved { .. } = error {
            let hints = [
                "no terminal to ask for approval; approve this call with --approve".to_owned(),
                format!("approve all its calls with `trust: full` for {}", tool.server),
            ];
            let hints = hints.into_iter().filter(|_| !self.has_person);
            return Diagnostic::failed(error.to_string()).hints(hints);
        }
        let Some(server) = server else { return Diagnostic::failed(error.to_string()) };
        let mut diagnostic = self.fleet.problem(server, error);
        if let Error::CallTimeout { .. } | Error::CallTooLong { .. } = error {
            diagnostic.exit = Exit::Peer;
        }
        diagnostic
    }
}

/// Shows the progress of the call on a terminal.
pub(super) fn progress(fleet: &McpServers) -> mcp_client::ProgressSink {
    let (reporter, shown) = (Arc::clone(&fleet.reporter), fleet.shown.clone());
    Arc::new(move |progress: Progress| reporter.waiting_for(shown.line(&progress.to_string())))
}

const MAX_BYTES: u64 = 16 * 1024 * 1024;

fn parse(text: &str) -> Result<Value> {
    let wrong = Diagnostic::usage("the arguments are not valid JSON")
        .hint("use an object such as '{\"path\": \"notes.txt\"}', or --arg path=notes.txt");
    let value: Value = serde_json::from_str(text).or_diagnostic(wrong)?;
    let kind = match &value {
        Value::Object(_) => return Ok(value),
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
    };
    Err(Diagnostic::usage(format!("the arguments must be a JSON object, found {kind}")))
}

fn check_arguments(tool: &RegisteredTool, arguments: &Value) -> Result {
    let required = tool.schema.get("required").and_then(Value::as_array);
    let missing: Vec<String> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| arguments.get(name).is_none())
        .map(|name| format!("`{}`", printable(name)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (plural, them) = if missing.len() == 1 { ("", "it") } else { ("s", "them") };
    let message = format!("{} requires the argument{plural} {}", tool.name, missing.join(", "));
    Err(Diagnostic::usage(message).hint(format!(
        "pass {them} as JSON or with --arg; see the parameters with `agent mcp tools {}`",
        operand_with(&tool.server, "--schema")
    )))
}

#[derive(Debug)]
struct Target {
    name: String,
    /// The native name of the tool, if typed after its server.
    native: Option<String>,
    servers: Vec<ServerEntry>,
}

impl Target {
    fn find(typed: &str, servers: &Servers) -> Result<Self> {
        if let Some((server, native)) = typed.split_once('/') {
            let entry = servers.find(server)?.entry.clone();
            let native = Some(native.to_owned());
            return Self { name: typed.to_owned(), native, servers: vec![entry] }.enabled();
        }
        let may_own = |entry: &&ServerEntry| {
            let prefix = registered_name(&entry.name, "");
            // Names over the limit are cut before the native name begins.
            let is_cut = prefix.len() + 1 + HASH_CHARS > typed.len();
            typed.starts_with(&prefix) || (is_cut && typed.len() == MAX_NAME_CHARS)
        };
        let found: Vec<ServerEntry> = servers.entries().filter(may_own).cloned().collect();
        if found.is_empty() {
            // A server with a faulty entry is missing from the list: its faults are the reason.
            let names =
                servers.parsed.problems.iter().filter_map(|problem| problem.section.as_ref());
            let mut faulty = names.filter(|name| typed.starts_with(&registered_name(name, "")));
            if let Some(name) = faulty.next() {
                servers.find(name)?;
            }
            servers.check_file()?;
            return Err(unknown(typed, servers));
        }
        if let Some(diagnostic) = ambiguous(typed, servers) {
            return Err(diagnostic);
        }
        Self { name: typed.to_owned(), native: None, servers: found }.enabled()
    }

    /// Only the enabled servers; fails if there are none.
    fn enabled(mut self) -> Result<Self> {
        if let [first, ..] = &*self.servers
            && !self.servers.iter().any(|entry| entry.enabled)
        {
            return Err(disabled(&first.name));
        }
        self.servers.retain(|entry| entry.enabled);
        Ok(self)
    }

    fn lookup<'a>(&self, registry: &'a Registry) -> Option<&'a RegisteredTool> {
        match &self.native {
            None => registry.lookup(&self.name),
            Some(native) => registry.entries().find(|entry| entry.native_name() == native),
        }
    }

    /// Whether this native name is the requested one.
    fn is(&self, native: &str) -> bool {
        match &self.native {
            Some(meant) => meant == native,
            None => {
                self.servers.iter().any(|entry| registered_name(&entry.name, native) == self.name)
            }
        }
    }
}

/// Length of the suffix of a cut name: `_` and eight digits.
const HASH_CHARS: usize = 9;

fn ambiguous(typed: &str, servers: &Servers) -> Option<Diagnostic> {
    let (names, tool) = servers.enabled().find_map(|entry| {
        let tool = typed.strip_prefix(&registered_name(&entry.name, ""))?;
        let alike = std::iter::once(&*entry.name).chain(servers.twins(&entry.name));
        let names: Vec<String> = alike.map(printable).collect();
        (names.len() > 1).then_some((names, tool))
    })?;
    let forms: Vec<String> =
        names.iter().map(|name| format!("`{name}/{}`", printable(tool))).collect();
    let message = format!(
        "ambiguous tool `{}`: it may be a tool of {}",
        printable(typed),
        names.join(" or of ")
    );
    Some(Diagnostic::configuration(message).hint(format!("use {}", forms.join(" or "))))
}

fn unknown(typed: &str, servers: &Servers) -> Diagnostic {
    let typed = printable(typed);
    let prefixes: Vec<String> =
        servers.enabled().map(|entry| registered_name(&entry.name, "")).collect();
    let diagnostic = Diagnostic::configuration(format!("no server has a tool named `{typed}`"));
    match nearest(&typed, prefixes.iter().map(String::as_str)) {
        Some(near) => diagnostic.hint(format!("did you mean one that starts with `{near}`?")),
        None => diagnostic.hint(
            "use `mcp__<server>__<tool>` or `<server>/<tool>`; list tools with `agent mcp tools`",
        ),
    }
}

#[cfg(test)]
mod tests;
