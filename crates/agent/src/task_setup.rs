//! The setup of a task from the profile: the service and its model, the servers and their
//! tools, stored approvals, and metrics.

mod config;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::Client;
use mcp_client::config::{Endpoint, HttpEndpoint, ServerEntry, Text};
use mcp_client::supervisor::ServerState;
use task_loop::approval_gate::{ApprovalGate, PreApprovals};
use task_loop::chat_record::ToolChoice;
use task_loop::conversation::Conversation;
use task_loop::metrics::TaskMetrics;
use task_loop::model::{ApiKind, Model, ModelError};
use task_loop::person::Person;
use task_loop::server_requests::{SamplingModel, ServerRequests};
use task_loop::toolbox::plan::UpdatePlan;
use task_loop::toolbox::{Toolbox, ToolboxOptions};
use task_loop::untrusted::printable;
use task_loop::{Attacher, TaskContext, nearest};
use usage_metrics::catalogue::{Entrypoint, ExecutionSurface};
use usage_metrics::recorder::Recorder;

pub(crate) use self::config::{TaskConfig, TaskLimits};
use crate::attended_person::{AttendedPerson, OpenQuestions};
use crate::commands::parse_worker;
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::mcp::approval::ApprovalFile;
use crate::mcp::reporter::MessageSink;
use crate::mcp::{MAX_EXTRA_WAIT, McpServers, Servers, predicate};
use crate::member::Member;
use crate::member::settings::Settings;
use crate::metrics_recorder;
use crate::runtime::{self, Signals, StopSignal};
use crate::session::Session;
use crate::skills::catalogue::Catalogue;
use crate::skills::folders::SkillFolders;
use crate::skills::log::SkillLog;
use crate::skills::tool::LoadSkill;
use crate::terminal_person::TerminalPerson;

const OWN_SERVER: &str = "member";
/// Maximum wait for servers that are still connecting. Tools of late ones join, but a required
/// one has the time that its entry allows.
const SERVERS_WAIT: Duration = Duration::from_secs(10);
/// Default window, for the share that tools may take of it.
const UNKNOWN_WINDOW: u64 = 32 * 1024;

#[derive(Debug, Clone, Default)]
pub(crate) struct TaskRequest {
    pub(crate) model: Option<String>,
    pub(crate) form: Option<ApiKind>,
    pub(crate) tools: ToolChoice,
    pub(crate) beforehand: PreApprovals,
    pub(crate) limits: TaskLimits,
    pub(crate) is_alone: bool,
    /// The person answers through another program.
    pub(crate) attended: Option<Arc<OpenQuestions>>,
}

/// Everything but the model, which is selected while the servers start.
#[derive(Debug)]
pub(crate) struct TaskSetup {
    pub(crate) member: Member,
    pub(crate) fleet: McpServers,
    pub(crate) config: TaskConfig,
    pub(crate) recorder: Recorder,
    person: Option<Arc<dyn Person>>,
    served: ServerRequests,
    pub(crate) attacher: Arc<Attacher>,
    pub(crate) wanted: TaskRequest,
    skills: Skills,
}

#[derive(Debug)]
struct Skills {
    catalogue: Catalogue,
    tool: Arc<LoadSkill>,
}

impl TaskSetup {
    /// Reads the profile. Nothing is connected yet.
    pub(crate) fn load(wanted: TaskRequest, session: &Session) -> Result<Self> {
        let settings = Settings::load(session)?;
        settings.key()?;
        let config = TaskConfig::load(session)?;
        let mut fleet = McpServers::load(session, MessageSink::Notes)?;
        fleet.servers.check_file()?;
        fleet.servers.report_problems(session);
        for name in wanted.tools.servers.iter().chain(&wanted.beforehand.servers) {
            check_name(name, &fleet)?;
        }
        if let Some(key) = &settings.key {
            let secret = (key.value.label.clone(), key.value.value().to_owned());
            fleet.host.redactor.add_secrets([secret]);
        }
        let member = Member::of(settings, session)?;
        let recorder = metrics_recorder::recorder(session)?;
        fleet.with_browser(session);
        let person: Option<Arc<dyn Person>> = match &wanted.attended {
            Some(questions) => {
                Some(Arc::new(AttendedPerson::new(questions, &session.output, &fleet.shown)))
            }
            None if wanted.is_alone => None,
            None => TerminalPerson::find(&session.output, &fleet),
        };
        let approved = wanted.beforehand.servers.clone();
        let served = ServerRequests::new(person.clone(), approved, SamplingModel::OfTask);
        fleet.host.requests = Arc::new(served.clone());
        let skills = Skills::load(&wanted, &fleet, &recorder, session)?;
        let attacher = Arc::new(Attacher::new(parse_worker::program(), config.max_image_side));
        Ok(Self { member, fleet, config, recorder, person, served, attacher, wanted, skills })
    }

    /// Works with the servers, which have ended when this returns.
    pub(crate) fn open(
        self,
        work: impl AsyncFnOnce(Self, &Client, &mut Signals) -> Result,
    ) -> Result {
        let (recorder, reporter) = (self.recorder.clone(), Arc::clone(&self.fleet.reporter));
        let done = runtime::run(async {
            let mut signals = Signals::listen();
            // The servers start once the model is known to support tools.
            let client = Client::start([], self.fleet.host.clone());
            let done = work(self, &client, &mut signals).await;
            reporter.done_waiting();
            // A second signal does not wait for the servers.
            let _ = signals.stop_on_signal(async |_| client.close().await).await;
            done
        });
        metrics_recorder::close(&recorder);
        done
    }

    /// The servers of the task: the configured ones, and the member service itself.
    pub(crate) fn entries(&self) -> Vec<ServerEntry> {
        self.entries_of(&self.fleet.servers)
    }

    /// The servers of tasks with this configuration.
    pub(crate) fn entries_of(&self, servers: &Servers) -> Vec<ServerEntry> {
        if self.wanted.tools.none {
            return Vec::new();
        }
        let only: BTreeSet<&str> = self.wanted.tools.servers.iter().map(String::as_str).collect();
        let is_wanted = |name: &str| only.is_empty() || only.contains(name);
        let mut entries: Vec<ServerEntry> =
            servers.enabled().filter(|entry| is_wanted(&entry.name)).cloned().collect();
        let is_there = servers.entries().any(|entry| self.is_own(entry));
        if self.config.own_tools && !is_there && is_wanted(OWN_SERVER) {
            entries.push(self.own_entry());
        }
        entries
    }

    /// Whether an entry is the member service, by its name or its address.
    fn is_own(&self, entry: &ServerEntry) -> bool {
        let own = &self.member.settings.mcp_url.value;
        let is_address = match &entry.endpoint {
            Endpoint::Http(http) => http.url.value() == own,
            Endpoint::Stdio(_) => false,
        };
        entry.name == OWN_SERVER || is_address
    }

    fn own_entry(&self) -> ServerEntry {
        let settings = &self.member.settings;
        let key = settings.key.as_ref().map(|key| format!("Bearer {}", key.value.value()));
        let bearer = key.map(|key| Text::literal(key).masked("Bearer …"));
        let headers = bearer.map(|bearer| ("Authorization".to_owned(), bearer));
        let endpoint = HttpEndpoint {
            headers: headers.into_iter().collect(),
            skip_preflight: true,
            ..HttpEndpoint::new(&settings.mcp_url.value)
        };
        let mut entry = ServerEntry::new(OWN_SERVER, Endpoint::Http(Box::new(endpoint)));
        entry.parallel_calls = true;
        entry
    }

    /// Waits for the servers and the model, or for a stop signal.
    pub(crate) async fn ready(
        &self,
        client: &Client,
        counting: &TaskMetrics,
        stop: &StopSignal,
    ) -> Result<Model> {
        self.fleet.reporter.waiting_for("starting …");
        let model = tokio::select! {
            model = self.model(self.wanted.model.as_deref(), client, counting) => model,
            () = stop.now.cancelled() => Err(Diagnostic::interrupted(Exit::Interrupted)),
        };
        self.fleet.reporter.done_waiting();
        model
    }

    /// Selects the model, the configured one by default; starts the servers if it supports tools.
    pub(crate) async fn model(
        &self,
        id: Option<&str>,
        client: &Client,
        counting: &TaskMetrics,
    ) -> Result<Model> {
        let form = self.wanted.form.unwrap_or(self.config.form);
        let configured = self.member.settings.model.as_ref().map(|model| model.value.as_str());
        let found = Model::find(Arc::clone(&self.member.client), id.or(configured), form).await;
        let mut model = found.map_err(|error| model_diagnostic(&error, id, &self.member))?;
        if let Some(kinds) = &self.config.attachments {
            model.accepts = kinds.iter().copied().collect();
        }
        self.start_servers(client, &model).await?;
        self.served.with_model(model.clone(), counting.clone());
        Ok(model)
    }

    /// Starts the servers for a model that supports tools.
    async fn start_servers(&self, client: &Client, model: &Model) -> Result {
        if model.takes_tools {
            client.reload(self.entries());
            client.wait_until_settled(SERVERS_WAIT).await;
            for status in client.missing_required() {
                let entry = &self.fleet.servers.find(&status.server)?.entry;
                // A server that has stopped by then is reported as missing.
                let most = entry.connect_timeout.saturating_add(MAX_EXTRA_WAIT);
                let _ = client.wait_until_server_settled(&entry.name, most).await;
            }
            return self.missing(client);
        }
        if !self.wanted.tools.none && self.fleet.servers.enabled().next().is_some() {
            let id = printable(&model.id);
            self.fleet.reporter.show(format!("{id} cannot use tools: no server is started"));
        }
        Ok(())
    }

    /// Fails if a required server is missing; prints a note about late ones.
    fn missing(&self, client: &Client) -> Result {
        for status in client.missing_required() {
            let entry = self.fleet.servers.find(&status.server)?;
            if let Some(diagnostic) = self.fleet.unusable(&entry.entry, &status) {
                return Err(diagnostic);
            }
        }
        let status = client.status();
        let late = status.iter().filter(|status| matches!(status.state, ServerState::Connecting));
        for status in late {
            let name = &status.server;
            self.fleet
                .reporter
                .show(format!("{name} is still connecting; its tools are added later"));
        }
        let bad = status.iter().filter(|status| {
            matches!(status.state, ServerState::Parked { .. } | ServerState::NeedsSignIn { .. })
        });
        for status in bad {
            let (name, how) = (printable(&status.server), predicate(&status.state));
            let why = self.fleet.shown.first_line(status.state.reason().unwrap_or_default());
            let seconds = status.state.next_attempt_seconds();
            let until = seconds.map(|left| format!(" until the next attempt in {left} s"));
            let until = until.unwrap_or_default();
            let line = format!("{name} {how}: {why}; its tools are unavailable{until}");
            self.fleet.reporter.show(line);
        }
        Ok(())
    }

    /// The tools, in a form that this model supports.
    pub(crate) fn toolbox(
        &self,
        client: &Client,
        model: &Model,
        session: &Session,
    ) -> Result<Toolbox> {
        let store = Box::new(ApprovalFile(session.home()?.approvals()));
        let (person, projects) = (self.person.clone(), self.fleet.servers.projects.clone());
        let gate = ApprovalGate::new(store, person, self.wanted.beforehand.clone(), projects);
        let (shown, attacher) = (self.fleet.shown.clone(), Arc::clone(&self.attacher));
        let parallel = self.entries().into_iter().filter(|entry| entry.parallel_calls);
        let window = model.context_length.unwrap_or(UNKNOWN_WINDOW);
        let share = window * u64::from(self.config.tools_share) / 100;
        let mut options = ToolboxOptions {
            own: Vec::new(),
            parallel: parallel.map(|entry| entry.name).collect(),
            max_tokens: u32::try_from(share).unwrap_or(u32::MAX),
            is_closed: !model.takes_tools,
            accepts: model.accepts.clone(),
        };
        if self.config.plan && !self.wanted.tools.none {
            options.own.push(Arc::new(UpdatePlan));
        }
        if !self.skills.catalogue.skills.is_empty() {
            options.own.push(self.skills.tool.clone());
        }
        Ok(Toolbox::new(client.clone(), gate, shown, attacher, options))
    }

    /// The metrics of tasks with this origin.
    pub(crate) fn counting(
        &self,
        entrypoint: Entrypoint,
        surface: ExecutionSurface,
    ) -> TaskMetrics {
        TaskMetrics { recorder: self.recorder.clone(), entrypoint, surface }
    }

    pub(crate) fn context<'a>(
        &self,
        model: &'a Model,
        toolbox: &'a Toolbox,
        counting: &TaskMetrics,
        stop: StopSignal,
    ) -> TaskContext<'a> {
        TaskContext {
            model,
            toolbox,
            bounds: self.config.bounds(self.wanted.limits),
            old_turns: self.config.old_turns(),
            output_schema: None,
            counting: counting.clone(),
            stop: stop.now,
            is_ending: stop.is_ending,
        }
    }

    pub(crate) fn conversation(&self, model: &Model, session: &Session) -> Conversation {
        let skills = model.takes_tools.then_some(&self.skills.catalogue);
        Conversation::new(config::opening(&self.config, skills, session))
    }
}

impl Skills {
    /// The skills of the profile and the project; none without tools.
    fn load(
        wanted: &TaskRequest,
        fleet: &McpServers,
        recorder: &Recorder,
        session: &Session,
    ) -> Result<Self> {
        let places = SkillFolders::find(session)?;
        let log = SkillLog::new(&places, recorder.clone(), session.clock.clone());
        let mut catalogue = Catalogue::default();
        if !wanted.tools.none {
            catalogue = places.catalogue();
            catalogue.report(session);
            if let Some(project) = places.project().filter(|it| it.is_dir()) {
                session.output.detail(format!("skills of the project: {}", project.display()));
            }
            if let Err(diagnostic) = log.notice(&catalogue.skills) {
                // The task can run without it.
                let line = printable(&diagnostic.line());
                session.output.warn(format!("cannot record the use of skills: {line}"));
            }
        }
        let reporter = Arc::clone(&fleet.reporter);
        Ok(Self { catalogue, tool: Arc::new(LoadSkill { places, log, reporter }) })
    }
}

fn check_name(name: &str, fleet: &McpServers) -> Result {
    if name == OWN_SERVER || fleet.servers.entries().any(|entry| entry.name == *name) {
        return Ok(());
    }
    let known = fleet.servers.entries().map(|entry| entry.name.as_str()).chain([OWN_SERVER]);
    Err(Diagnostic::usage(format!("unknown server `{name}`"))
        .did_you_mean(nearest(name, known), "list servers with `agent mcp list`"))
}

/// Why no model was found. `asked` is the model of the command line.
fn model_diagnostic(error: &ModelError, asked: Option<&str>, member: &Member) -> Diagnostic {
    match error {
        ModelError::Service { error, .. } => member.diagnostic(error),
        ModelError::Unknown { nearest, .. } => {
            let configured = member.settings.model.as_ref().filter(|_| asked.is_none());
            Diagnostic::configuration(error.to_string())
                .hints(configured.map(|model| format!("the model is set by {}", model.place)))
                .did_you_mean(nearest.as_deref(), "list models with `agent models`")
        }
        ModelError::None { .. } => {
            Diagnostic::peer(error.to_string()).hint("list models with `agent models`").hint(
                "on your own service, add a provider to gateway.yaml; see `agent gateway example`",
            )
        }
    }
}
