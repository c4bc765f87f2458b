//! The configured MCP servers, for the commands: parsed, resolved, and connected.

pub(crate) mod advice;
pub(crate) mod approval;
pub(crate) mod browser;
pub(crate) mod client_document;
pub(crate) mod project;
pub(crate) mod reporter;
pub(crate) mod task_file;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::Client;
use mcp_client::config::{
    Auth, Configured, Endpoint, Flow, HttpTransport, OauthOptions, Parsed, Problem, Scope,
    ServerEntry, parse_document,
};
use mcp_client::host::{Host, IgnoreEvents, Observer, TaskStore};
use mcp_client::oauth::{Account, SignInStatus};
use mcp_client::redact::Redactor;
use mcp_client::supervisor::{ServerState, ServerStatus};
use mcp_client::tool_name::registered_name;
use serde_json::{Value, json};
use settings::Position;
use task_loop::untrusted::{escaped, printable};
use task_loop::{Sanitizer, nearest};

use self::advice::operand;
use self::browser::TerminalSignIn;
use self::project::ApprovalState;
use self::reporter::{MessageSink, Reporter};
use self::task_file::TaskFile;
use crate::config::secrets::SecretPlace;
pub(crate) use crate::config::secrets::scope;
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::keychain::{Keychain, UnlockDialog};
use crate::output::ERROR;
use crate::runtime;
use crate::runtime::Signals;
use crate::session::Session;

/// Extra time beyond a server's own timeouts before a command stops waiting for it.
pub(crate) const MAX_EXTRA_WAIT: Duration = Duration::from_secs(5);
/// Default timeout of a sign-in by a person.
const SIGN_IN: Duration = Duration::from_mins(5);

#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) path: PathBuf,
    /// The servers, and all problems of them.
    pub(crate) parsed: Parsed,
    pub(crate) scope: Scope,
    /// The servers of the project, with the folder of each file.
    pub(crate) projects: BTreeMap<String, PathBuf>,
    /// Of project files, and without a line unless an entry of the profile is used instead.
    project_notes: Vec<Problem>,
}

impl Servers {
    /// Reads the configuration of the profile. A missing file configures nothing.
    pub(crate) fn load(session: &Session) -> Result<Self> {
        let home = session.home()?;
        let path = home.config();
        let scope = scope(session, &home)?;
        let parsed = match &session.config()?.root {
            Ok(root) => parse_document(root, &scope),
            Err(problem) => Parsed { problems: vec![problem.clone()], ..Parsed::default() },
        };
        let (projects, project_notes) = (BTreeMap::new(), Vec::new());
        let mut servers = Self { path, parsed, scope, projects, project_notes };
        // A broken file does not show the names it uses.
        if servers.check_file().is_ok() {
            servers.add_project(session)?;
        }
        Ok(servers)
    }

    /// Adds the servers of approved project files. A server of the profile has precedence, even
    /// if its entry has errors.
    fn add_project(&mut self, session: &Session) -> Result {
        for file in project::files(session)? {
            let path = printable(&file.path.display().to_string());
            if let Some(fault) = &file.fault {
                self.project_notes.push(note(format!("{path} is not used: {fault}")));
                continue;
            }
            if file.state != ApprovalState::Approved {
                let names: Vec<&str> = file.servers.iter().map(|(name, _)| name.as_str()).collect();
                self.project_notes.push(note(format!(
                    "{path} is {}: its servers ({}) are not used; approve them with `agent mcp \
                     project --approve`",
                    file.state.as_str(),
                    names.join(", ")
                )));
                continue;
            }
            let (configured, faults) = file.configured(&self.scope);
            let faults = faults.into_iter().map(|fault| note(format!("{path}: {fault}")));
            self.project_notes.extend(faults);
            for server in configured {
                let name = &server.entry.name;
                if let Some((line, place)) = self.place_of(name) {
                    let message = format!(
                        "{path}: server `{name}` is not used: another one has this name, in {}",
                        printable(&place)
                    );
                    let section = Some(name.clone()).filter(|_| line > 0);
                    self.project_notes.push(Problem { section, line, ..note(message) });
                } else {
                    self.projects.insert(name.clone(), file.folder.clone());
                    self.parsed.servers.push(server);
                }
            }
        }
        Ok(())
    }

    /// The line and the place of a server; no line if it is in a project file.
    fn place_of(&self, name: &str) -> Option<(usize, String)> {
        if let Some(folder) = self.projects.get(name) {
            return Some((0, folder.display().to_string()));
        }
        let own = self.parsed.servers.iter().find(|server| server.entry.name == name);
        let invalid = || self.problems_of(name).next().map(|problem| problem.line);
        let line = own.map(|server| server.line).or_else(invalid)?;
        Some((line, format!("{}:{line}", self.path.display())))
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &ServerEntry> {
        self.parsed.servers.iter().map(|configured| &configured.entry)
    }

    pub(crate) fn enabled(&self) -> impl Iterator<Item = &ServerEntry> {
        self.entries().filter(|entry| entry.enabled)
    }

    /// The server with this name. Fails if its entry has errors.
    pub(crate) fn find(&self, name: &str) -> Result<&Configured> {
        if let Some(found) = self.parsed.servers.iter().find(|found| found.entry.name == name) {
            return Ok(found);
        }
        let path = self.path.display();
        let mut problems = self.problems_of(name).peekable();
        if problems.peek().is_some() {
            let message = format!("invalid configuration of server `{}`", printable(name));
            return Err(Diagnostic::configuration(message)
                .causes(problems.map(|problem| format!("{path}:{problem}"))));
        }
        self.check_file()?;
        let message = format!("no server named `{}` in {path}", printable(name));
        let known = self.entries().map(|entry| entry.name.as_str());
        let otherwise = match self.parsed.servers.as_slice() {
            [] => "add a server with `agent mcp add`",
            _ => "list servers with `agent mcp list --no-connect`",
        };
        Err(Diagnostic::configuration(message).did_you_mean(nearest(name, known), otherwise))
    }

    /// Fails if the file as a whole is invalid.
    pub(crate) fn check_file(&self) -> Result {
        // Problems of settings for all servers do not affect the rest of the file.
        let for_all =
            |problem: &Problem| problem.key.as_deref().is_some_and(|key| key.starts_with("mcp."));
        let is_of_file = |problem: &&Problem| {
            problem.is_error() && problem.section.is_none() && !for_all(problem)
        };
        let mut faults = self.parsed.problems.iter().filter(is_of_file).peekable();
        if !self.parsed.servers.is_empty() || faults.peek().is_none() {
            return Ok(());
        }
        let path = self.path.display();
        Err(Diagnostic::configuration(format!("{path} is invalid"))
            .causes(faults.map(|problem| problem_line(&self.path, problem))))
    }

    /// The other enabled servers whose tools get the same prefix.
    pub(crate) fn twins<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let prefix = registered_name(name, "");
        let names = self.enabled().map(|entry| entry.name.as_str());
        names.filter(move |other| *other != name && registered_name(other, "") == prefix)
    }

    /// The secrets, each with a label that may be shown.
    fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        self.parsed.servers.iter().flat_map(|configured| {
            let secrets = configured.secrets.iter();
            secrets.map(|secret| (secret.label.clone(), secret.value().to_owned()))
        })
    }

    /// The problems of the entry with this name.
    pub(crate) fn problems_of(&self, name: &str) -> impl Iterator<Item = &Problem> {
        self.parsed.problems.iter().filter(move |problem| problem.section.as_deref() == Some(name))
    }

    pub(crate) fn report_problems(&self, session: &Session) {
        self.print_problems(self.parsed.problems.iter(), session);
        for note in &self.project_notes {
            session.output.warn(escaped(&note.message));
        }
    }

    pub(crate) fn report_problems_of(&self, name: &str, session: &Session) {
        self.print_problems(self.problems_of(name), session);
    }

    fn print_problems<'p>(&self, problems: impl Iterator<Item = &'p Problem>, session: &Session) {
        for problem in problems {
            let line = problem_line(&self.path, problem);
            if !problem.is_error() {
                session.output.warn(line);
            } else if session.output.is_json() {
                session.output.note(Diagnostic::configuration(line).to_json());
            } else {
                session.output.note(format!("{ERROR}error:{ERROR:#} {line}"));
            }
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.parsed.problems.iter().any(Problem::is_error)
    }

    pub(crate) fn problems_json(&self) -> Value {
        let problems = self.parsed.problems.iter().chain(&self.project_notes).map(|problem| {
            json!({
                "severity": if problem.is_error() { "error" } else { "warning" },
                "line": problem.line,
                "column": problem.column,
                "server": problem.section,
                "key": problem.key,
                "message": problem.message,
                "hint": problem.hint,
            })
        });
        problems.collect()
    }
}

fn note(message: String) -> Problem {
    Problem::warning(Position::default(), message)
}

/// A problem of a file, on one line that editors can jump to.
pub(crate) fn problem_line(path: &std::path::Path, problem: &Problem) -> String {
    escaped(&problem.in_file(path))
}

/// `stdio`, `http` or `sse`.
pub(crate) fn transport(entry: &ServerEntry) -> &'static str {
    match &entry.endpoint {
        Endpoint::Stdio(_) => "stdio",
        Endpoint::Http(http) if http.transport == HttpTransport::Sse => "sse",
        Endpoint::Http(_) => "http",
    }
}

#[derive(Debug)]
pub(crate) struct McpServers {
    pub(crate) servers: Servers,
    pub(crate) shown: Sanitizer,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) host: Host,
    pub(crate) tasks: Arc<TaskFile>,
}

impl McpServers {
    /// The configured servers, not connected; calls that need approval are denied.
    pub(crate) fn load(session: &Session, place: MessageSink) -> Result<Self> {
        let servers = Servers::load(session)?;
        let redactor = Arc::new(Redactor::new(servers.secrets()));
        let shown = Sanitizer::new(Arc::clone(&redactor));
        let reporter = Reporter::new(session.output.clone(), shown.clone(), place);
        let observer: Arc<dyn Observer> = Arc::clone(&reporter) as Arc<dyn Observer>;
        let mut host = host(session, redactor, observer)?;
        host.client_document = client_document::configured(&servers.parsed).map(str::to_owned);
        let tasks = Arc::new(TaskFile::of(session, Arc::clone(&host.observer))?);
        host.tasks = Some(Arc::clone(&tasks) as Arc<dyn TaskStore>);
        Ok(Self { servers, shown, reporter, host, tasks })
    }

    /// Applies a configuration that was read again. Earlier secrets stay known.
    pub(crate) fn adopt(&mut self, servers: Servers) {
        self.host.redactor.add_secrets(servers.secrets());
        self.servers = servers;
    }

    /// Enables sign-ins by a person, if there is a terminal.
    pub(crate) fn with_browser(&mut self, session: &Session) {
        self.host.browser =
            TerminalSignIn::find(session, &self.reporter).map(|it| Arc::new(it) as _);
    }

    /// Maximum time until these servers are settled, sign-ins included.
    pub(crate) fn patience<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a ServerEntry>,
    ) -> Duration {
        let (mut connect, mut sign_in) = (MAX_EXTRA_WAIT, Duration::ZERO);
        for entry in entries {
            connect = connect.max(entry.connect_timeout.saturating_add(MAX_EXTRA_WAIT));
            if let Some(options) = oauth(entry).filter(|_| self.host.browser.is_some()) {
                sign_in = sign_in.max(options.timeout.unwrap_or(SIGN_IN));
            }
        }
        connect.saturating_add(sign_in)
    }

    /// Waits until every server is settled, and shows the unsettled ones meanwhile.
    pub(crate) async fn settle(&self, client: &Client, most: Duration) {
        let settled = client.wait_until_settled(most);
        tokio::pin!(settled);
        loop {
            let mut waiting = client.status();
            waiting.retain(|status| !status.state.is_settled());
            let names: Vec<&str> = waiting.iter().map(|status| &*status.server).collect();
            self.reporter.waiting_for(format!("connecting {}", names.join(", ")));
            tokio::select! {
                () = &mut settled => break,
                () = self.reporter.happened() => {}
            }
        }
        self.reporter.done_waiting();
    }

    /// The unusable servers, with the reasons.
    pub(crate) fn failures<'e>(
        &self,
        client: &Client,
        entries: impl IntoIterator<Item = &'e ServerEntry>,
    ) -> Vec<(&'e ServerEntry, Diagnostic)> {
        let statuses = client.status();
        let failure = |entry: &'e ServerEntry| {
            let status = statuses.iter().find(|status| status.server == entry.name)?;
            Some((entry, self.unusable(entry, status)?))
        };
        entries.into_iter().filter_map(failure).collect()
    }

    pub(crate) fn run<T>(
        &self,
        entries: Vec<ServerEntry>,
        work: impl AsyncFnOnce(&Client) -> Result<T>,
    ) -> Result<T> {
        let done = block_on(|| Client::start(entries, self.host.clone()), work);
        self.reporter.done_waiting();
        done
    }

    pub(crate) fn problem(&self, entry: &ServerEntry, error: &mcp_client::Error) -> Diagnostic {
        let (summary, tail) = error_lines(&self.shown, error);
        let message = format!("server `{}`: {summary}", entry.name);
        let diagnostic = match error.kind() {
            _ if is_of_this_machine(error) => Diagnostic::failed(message),
            mcp_client::ErrorKind::Configuration => Diagnostic::configuration(message),
            mcp_client::ErrorKind::SignIn => Diagnostic::sign_in(message),
            mcp_client::ErrorKind::Transient => Diagnostic::peer(message),
            mcp_client::ErrorKind::Call => Diagnostic::failed(message),
        };
        diagnostic.causes(tail).hints(self.advice(error, entry))
    }

    /// The error before a call: a server error, unless this machine failed.
    pub(crate) fn connection_failure(
        &self,
        entry: &ServerEntry,
        error: &mcp_client::Error,
    ) -> Diagnostic {
        let mut diagnostic = self.problem(entry, error);
        if diagnostic.exit == Exit::Failed && !is_of_this_machine(error) {
            diagnostic.exit = Exit::Peer;
        }
        diagnostic
    }

    pub(crate) fn advice(&self, error: &mcp_client::Error, entry: &ServerEntry) -> Vec<String> {
        let granted = self.standing(entry).and_then(|standing| standing.granted);
        let scope = granted.and_then(|granted| granted.requested.or(granted.scope));
        advice::advice(error, entry, scope.as_deref())
    }

    /// The account of a server with sign-in. Its standing has any problem.
    pub(crate) fn account(&self, entry: &ServerEntry) -> Option<Account> {
        let observer = Arc::new(IgnoreEvents);
        let host = Host { observer, browser: None, ..self.host.clone() };
        Account::of(entry, &Arc::new(host)).ok().flatten()
    }

    /// The stored sign-in of a server with sign-in. Flows without a person can always sign in
    /// again.
    pub(crate) fn standing(&self, entry: &ServerEntry) -> Option<SignInStatus> {
        let mut standing = self.account(entry)?.status();
        if let Some(granted) = &mut standing.granted {
            granted.renewable |= is_alone(entry);
        }
        Some(standing)
    }

    /// Why a settled server is unusable; `None` if it is usable.
    pub(crate) fn unusable(
        &self,
        entry: &ServerEntry,
        status: &ServerStatus,
    ) -> Option<Diagnostic> {
        match &status.state {
            ServerState::Ready | ServerState::Degraded { .. } | ServerState::Recycled => None,
            ServerState::Disabled => Some(disabled(&entry.name)),
            ServerState::Connecting
            | ServerState::Stopped
            | ServerState::Parked { .. }
            | ServerState::NeedsSignIn { .. } => Some(if let Some(failure) = &status.failure {
                self.problem(entry, failure)
            } else {
                let state = predicate(&status.state);
                Diagnostic::peer(format!("server `{}` {state}", entry.name))
                    .causes(status.state.reason().map(str::to_owned))
            }),
        }
    }
}

/// The word for a state. Only programs read "parked".
pub(crate) fn state_word(state: &ServerState) -> &'static str {
    if matches!(state, ServerState::Parked { .. }) { "failed" } else { state.into_str() }
}

/// The state as the predicate of a sentence about the server.
pub(crate) fn predicate(state: &ServerState) -> String {
    match state {
        ServerState::Parked { .. } => "failed".to_owned(),
        ServerState::NeedsSignIn { .. } => "needs a sign-in".to_owned(),
        _ => format!("is {}", state_word(state)),
    }
}

/// The error of a disabled server.
pub(crate) fn disabled(name: &str) -> Diagnostic {
    Diagnostic::configuration(format!("server `{name}` is disabled"))
        .hint(format!("enable it with `agent mcp enable {}`", operand(name)))
}

/// Whether the disk or the keychain of this machine failed, not a peer.
fn is_of_this_machine(error: &mcp_client::Error) -> bool {
    use mcp_client::oauth::Error;
    let mcp_client::Error::OAuth(error) = error else { return false };
    let inner = if let Error::Unattended(inner) = &**error { inner } else { error };
    matches!(**inner, Error::Store { .. } | Error::Keychain { .. })
}

pub(crate) fn oauth(entry: &ServerEntry) -> Option<&OauthOptions> {
    match &entry.endpoint {
        Endpoint::Http(http) => match &http.auth {
            Auth::OAuth(options) => Some(options),
            Auth::Static => None,
        },
        Endpoint::Stdio(_) => None,
    }
}

/// Whether the sign-in of a server needs no person.
pub(crate) fn is_alone(entry: &ServerEntry) -> bool {
    oauth(entry).is_some_and(|options| options.flow != Flow::Browser)
}

/// The end of a command that has already reported its error.
pub(crate) fn already_reported(exit: Exit) -> Diagnostic {
    Diagnostic { exit, ..Diagnostic::already_reported() }
}

/// An error on one line, and the output of the server's process.
pub(crate) fn error_lines(shown: &Sanitizer, error: &mcp_client::Error) -> (String, Vec<String>) {
    use mcp_client::Error;
    let (summary, output) = match error {
        Error::Exited { exit, output } => (format!("the server {exit}"), output),
        Error::OutputClosed { output } => {
            ("the server closed its output but is still running".to_owned(), output)
        }
        Error::ConnectTimeout { method, after, output } => {
            (format!("no answer to `{method}` within {} s", after.as_secs_f32()), output)
        }
        Error::OutcomeUnknown { tool, cause } => {
            let (cause, lines) = error_lines(shown, cause);
            return (format!("`{tool}` may or may not have run: {cause}"), lines);
        }
        other => return (shown.lines(&other.to_string(), "  "), Vec::new()),
    };
    let stderr = shown.tail(&output.stderr).into_iter();
    let mut lines: Vec<String> = stderr.map(|line| format!("standard error: {line}")).collect();
    lines.extend(output.noise.as_ref().map(|noise| {
        format!("standard output contained text that is not a message: {}", shown.line(noise))
    }));
    (summary, lines)
}

/// The host that this program provides. It declines requests, and calls that need approval.
pub(crate) fn host(
    session: &Session,
    redactor: Arc<Redactor>,
    observer: Arc<dyn Observer>,
) -> Result<Host> {
    let home = session.home()?;
    let program = std::env::current_exe().ok().map(|path| path.to_string_lossy().into_owned());
    Ok(Host {
        home: session.environment.home.clone(),
        workspace: std::env::current_dir().ok(),
        log_dir: Some(home.logs()),
        cache_dir: Some(home.cache()),
        token_dir: Some(home.mcp_tokens()),
        // The person was asked to unlock it when the variables were read.
        keychain: Some(Arc::new(Keychain(UnlockDialog::Never))),
        token_place: SecretPlace::of(session)?.into(),
        guardian: program.map(|program| vec![program, "mcp".to_owned(), "guard".to_owned()]),
        redactor,
        observer,
        ..Host::bare(session.environment.all.clone())
    })
}

/// Runs `work` with its own runtime. Ctrl-C and similar signals end it with everything the
/// client started; a second one skips that cleanup.
pub(crate) fn block_on<T>(
    client: impl FnOnce() -> Client,
    work: impl AsyncFnOnce(&Client) -> Result<T>,
) -> Result<T> {
    let runtime = runtime::started()?;
    let done = runtime.block_on(async {
        let mut signals = Signals::listen();
        let client = client();
        let done = signals.drop_on_signal(work(&client)).await;
        tokio::select! {
            () = client.close() => {}
            _ = signals.next() => {}
        }
        done
    });
    // A question may still be open on the terminal; do not wait for the answer.
    runtime.shutdown_background();
    done
}

#[cfg(test)]
mod tests;
