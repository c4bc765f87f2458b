//! `agent mcp test`: one server, step by step.

mod ground;
mod steps;

use std::time::{Duration, Instant};

use mcp_client::config::{Configured, Endpoint};
use mcp_client::content::injection_warnings;
use mcp_client::registry::ServerTools;
use mcp_client::session::{ConnectStep, HandshakeResult, Session as Conversation};
use mcp_client::transport::environment::find_command;
use mcp_client::{Client, Error};
use serde_json::Map;

pub(super) use self::ground::named_files;
use self::steps::Steps;
use crate::diagnostic::{Diagnostic, Result};
use crate::environment::Environment;
use crate::finding::Severity;
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, problem_line};
use crate::session::Session;
use crate::table::{counted, grouped};

const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of tools named in one line.
const MAX_NAMED: usize = 20;

/// Connect to a server step by step
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 success, 3 invalid configuration, 4 sign-in required, 5 the server failed.

Examples:
  agent mcp test files
  agent mcp test files --json")]
pub(crate) struct Args {
    /// Server name
    server: String,
}

/// Runs the steps until one fails.
pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let mut fleet = McpServers::load(session, MessageSink::Notes)?;
    fleet.with_browser(session);
    let configured = fleet.servers.find(&args.server)?;
    let steps = Steps::new(session.output.clone(), fleet.shown.clone());
    let test = Test { fleet: &fleet, session, configured, steps: &steps };
    let done = fleet.run(Vec::new(), async |client| test.run_all(client).await);
    let done = steps.outcome(done);
    if session.output.is_json() {
        session.output.json(&steps.json(&args.server, done.as_ref().err()))?;
    } else if done.is_ok() {
        session.output.text(format!("{} works.\n", args.server))?;
    }
    done
}

struct Test<'a> {
    fleet: &'a McpServers,
    session: &'a Session,
    configured: &'a Configured,
    steps: &'a Steps,
}

impl Test<'_> {
    async fn run_all(&self, client: &Client) -> Result {
        let entry = &self.configured.entry;
        self.configuration()?;
        self.ground().await?;
        let trace = |stage: ConnectStep| self.steps.stage(&stage);
        let dialled = client.connect_unsupervised(entry, &trace).await;
        let conversation = dialled.map_err(|error| self.failure(&error, "connect"))?;
        let outcome = self.talk(&conversation).await;
        conversation.close().await;
        outcome
    }

    /// Checks the entry, and its unresolved variables.
    fn configuration(&self) -> Result {
        let entry = &self.configured.entry;
        let path = &self.fleet.servers.path;
        let place = format!("{}:{}", path.display(), self.configured.line);
        self.steps.ok("configuration", &place);
        if !entry.enabled {
            self.steps.note("configuration", "disabled; tested anyway");
        }
        for problem in self.fleet.servers.problems_of(&entry.name) {
            self.steps.warning("configuration", &problem_line(path, problem));
            if problem.message.contains("is not set") {
                let file = self.session.home()?.env_file();
                self.steps.hint(format!("set the variable in {}, or export it", file.display()));
            }
        }
        Ok(())
    }

    /// Checks the requirements of a connection.
    async fn ground(&self) -> Result {
        let entry = &self.configured.entry;
        match &entry.endpoint {
            Endpoint::Stdio(stdio) => {
                let began = Instant::now();
                let Environment { all, home, .. } = &self.session.environment;
                let path = find_command(stdio, all, home.as_deref())
                    .map_err(|error| self.failure(&error, "executable"))?;
                self.steps.ok_since(began, "executable", &path.display().to_string());
                Ok(())
            }
            Endpoint::Http(http) => {
                ground::files(http, self.steps).map_err(|error| self.failure(&error, "connect"))?;
                let reached = ground::reach(http, entry.connect_timeout, self.session, self.steps);
                reached.await.map_err(|error| self.failure(&error, "connect"))
            }
        }
    }

    /// Runs all session requests except tool calls.
    async fn talk(&self, conversation: &Conversation) -> Result {
        self.introduced(conversation.handshake());
        self.tools(conversation).await?;
        let agreed = conversation.handshake();
        if agreed.offers("resources") {
            let began = Instant::now();
            let listed = conversation.list_resources().await.map(|listed| listed.items.len());
            self.counted("resources", "resource", listed, began);
        }
        if agreed.offers("prompts") {
            let began = Instant::now();
            let listed = conversation.list_prompts().await.map(|listed| listed.items.len());
            self.counted("prompts", "prompt", listed, began);
        }
        let began = Instant::now();
        match conversation.ping(PING_TIMEOUT).await {
            Ok(()) => self.steps.ok_since(began, "ping", "answered"),
            Err(Error::Rpc(error)) => {
                self.steps.ok_since(began, "ping", &format!("answered with an error: {error}"));
            }
            Err(error) => return Err(self.failure(&error, "ping")),
        }
        Ok(())
    }

    fn introduced(&self, agreed: &HandshakeResult) {
        let word = |key: &str| agreed.server_info.get(key).and_then(|value| value.as_str());
        let who = match (word("name"), word("version")) {
            (Some(name), Some(version)) => format!("identifies itself as {name} {version}"),
            (Some(name), None) => format!("identifies itself as {name}"),
            _ => "does not identify itself".to_owned(),
        };
        self.steps.ok("identity", &who);
        let offered = agreed.capabilities.as_object().into_iter().flat_map(Map::keys);
        let offered: Vec<&str> = offered.map(String::as_str).collect();
        let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
        self.steps.ok("capabilities", &offered);
        if let Some(text) = &agreed.instructions {
            let (name, bytes) = ("instructions", text.len());
            match self.configured.entry.rejects_instructions(text) {
                None => self.steps.ok(name, &format!("{bytes} bytes; models get them")),
                Some(why) => {
                    self.steps.note(name, &format!("{bytes} bytes; models do not get them: {why}"));
                }
            }
        }
    }

    async fn tools(&self, conversation: &Conversation) -> Result {
        let entry = &self.configured.entry;
        let began = Instant::now();
        let listed = conversation.list_tools().await;
        let catalogue = listed.map_err(|error| self.failure(&error, "tools"))?;
        let part = ServerTools::build(&entry.name, &entry.tools, entry.trust, &catalogue);
        let mut detail =
            format!("{} registered, about {} tokens per request", part.len(), grouped(part.tokens));
        if part.filtered > 0 {
            detail.push_str(&format!("; {} excluded by `tools`", part.filtered));
        }
        self.steps.ok_since(began, "tools", &detail);
        for tool in &part.quarantined {
            let detail = format!("`{}` cannot be used: {}", tool.name, tool.reason);
            self.steps.warning("tools", &detail);
        }
        for tool in &part.skipped {
            let detail = format!("`{}` is skipped: {}", tool.native_name, tool.reason);
            self.steps.warning("tools", &detail);
        }
        for tool in part.entries() {
            for warning in injection_warnings(&tool.description) {
                let detail =
                    format!("check the description of `{}`: {warning}", tool.native_name());
                self.steps.warning("tools", &detail);
            }
        }
        let notes = part.notes().chain(catalogue.notes.iter().cloned());
        for note in notes.take(MAX_NAMED) {
            self.steps.note("tools", &note);
        }
        Ok(())
    }

    fn counted(&self, step: &'static str, noun: &str, found: Result<usize, Error>, began: Instant) {
        let took = Some(began.elapsed());
        match found {
            Ok(count) => self.steps.add(Severity::Good, step, &counted(count, noun), took),
            Err(error) => {
                let detail = format!("offered, but listing failed: {error}");
                self.steps.add(Severity::Warning, step, &detail, took);
            }
        }
    }

    /// The end of the test. `step` is reported as failed unless the last one was.
    fn failure(&self, error: &Error, step: &'static str) -> Diagnostic {
        let diagnostic = self.fleet.connection_failure(&self.configured.entry, error);
        if !self.steps.ended_in_failure() {
            self.steps.failed(step, &error.to_string());
        }
        diagnostic
    }
}
