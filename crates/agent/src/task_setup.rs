//! The setup of a task from the profile: the service and its model, the servers and their
//! tools, stored approvals, and metrics.

mod config;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::Client;
use mcp_client::config::{Endpoint, HttpEndpoint, HttpTransport, ServerEntry, Text, Verify};
use mcp_client::supervisor::ServerState;
use task_loop::approval_gate::{ApprovalGate, PreApprovals};
use task_loop::chat_record::ToolChoice;
use task_loop::conversation::Conversation;
use task_loop::limits::Bounds;
use task_loop::metrics::TaskMetrics;
use task_loop::model::{ApiKind, Model};
use task_loop::person::{NoPerson, Person};
use task_loop::server_requests::{SamplingModel, ServerRequests};
use task_loop::toolbox::Toolbox;
use task_loop::toolbox::plan::UpdatePlan;
use task_loop::untrusted::printable;
use task_loop::{Attacher, nearest};
use usage_metrics::catalogue::{Entrypoint, ExecutionSurface};
use usage_metrics::recorder::Recorder;

pub(crate) use self::config::{TaskConfig, micros};
use crate::attended_person::{AttendedPerson, OpenQuestions};
use crate::commands::parse_worker;
use crate::diagnostic::{Diagnostic, Exit};
use crate::mcp::approval::ApprovalFile;
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, Servers, patience};
use crate::member::Member;
use crate::member::settings::Settings;
use crate::metrics_recorder;
use crate::runtime::{self, Interrupts, StopSignal};
use crate::session::Session;
use crate::skills::catalogue::Catalogue;
use crate::skills::folders::SkillFolders;
use crate::skills::log::SkillLog;
use crate::skills::tool::LoadSkill;
use crate::task_error::model_diagnostic;
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
    person: Arc<dyn Person>,
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
    pub(crate) fn load(
        wanted: TaskRequest,
        place: MessageSink,
        session: &Session,
    ) -> Result<Self, Diagnostic> {
        let settings = Settings::load(session)?;
        settings.key()?;
        let config = TaskConfig::load(session)?;
        let mut fleet = McpServers::load(session, place)?;
        fleet.servers.whole()?;
        fleet.servers.tell_problems(session);
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
        let person = person.unwrap_or_else(|| Arc::new(NoPerson));
        let skills = Skills::load(&wanted, &fleet, &recorder, session)?;
        let attacher = Arc::new(Attacher::new(parse_worker::program(), config.max_image_side));
        Ok(Self { member, fleet, config, recorder, person, served, attacher, wanted, skills })
    }

    /// Works with the servers, which have ended when this returns.
    pub(crate) fn open(
        self,
        work: impl AsyncFnOnce(Self, &Client, &mut Interrupts) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let (recorder, reporter) = (self.recorder.clone(), Arc::clone(&self.fleet.reporter));
        let runtime = runtime::started()?;
        let done = runtime.block_on(async {
            let mut interrupts = Interrupts::listen();
            // The servers start once the model is known to support tools.
            let client = Client::start([], self.fleet.host.clone());
            let done = work(self, &client, &mut interrupts).await;
            reporter.done_waiting();
            // A second signal does not wait for the servers.
            let _ = interrupts.guard(async |_| client.close().await).await;
            done
        });
        runtime.shutdown_background();
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
        let endpoint = HttpEndpoint {
            url: Text::literal(&settings.mcp_url.value),
            headers: bearer
                .map(|bearer| ("Authorization".to_owned(), bearer))
                .into_iter()
                .collect(),
            transport: HttpTransport::Streamable,
            skip_preflight: true,
            verify: Verify::System,
            client_cert: None,
            auth: mcp_client::config::Auth::Static,
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
    ) -> Result<Model, Diagnostic> {
        self.fleet.reporter.waiting_for("starting …");
        let model = tokio::select! {
            model = self.model(client, counting) => model,
            () = stop.now.cancelled() => Err(Diagnostic::interrupted(Exit::Interrupted)),
        };
        self.fleet.reporter.done_waiting();
        model
    }

    pub(crate) async fn other_model(
        &self,
        id: &str,
        client: &Client,
        counting: &TaskMetrics,
    ) -> Result<Model, Diagnostic> {
        let form = self.wanted.form.unwrap_or(self.config.form);
        let found = Model::find(Arc::clone(&self.member.client), Some(id), form).await;
        let found = found.map_err(|error| model_diagnostic(&error, Some(id), &self.member))?;
        let model = self.configured(found);
        self.start_servers(client, &model).await?;
        self.served.with_model(model.clone(), counting.clone());
        Ok(model)
    }

    /// Selects the model, then starts the servers if it supports tools.
    pub(crate) async fn model(
        &self,
        client: &Client,
        counting: &TaskMetrics,
    ) -> Result<Model, Diagnostic> {
        let form = self.wanted.form.unwrap_or(self.config.form);
        let asked = self.wanted.model.as_deref();
        let configured = self.member.settings.model.as_ref().map(|model| model.value.as_str());
        let model = Model::find(Arc::clone(&self.member.client), asked.or(configured), form);
        let model = model.await.map_err(|error| model_diagnostic(&error, asked, &self.member))?;
        let model = self.configured(model);
        self.start_servers(client, &model).await?;
        self.served.with_model(model.clone(), counting.clone());
        Ok(model)
    }

    /// The model with its configured settings.
    fn configured(&self, mut model: Model) -> Model {
        if let Some(kinds) = &self.config.attachments {
            model.accepts = kinds.iter().copied().collect();
        }
        model
    }

    /// Starts the servers for a model that supports tools.
    async fn start_servers(&self, client: &Client, model: &Model) -> Result<(), Diagnostic> {
        if model.takes_tools {
            client.reload(self.entries());
            client.wait_until_settled(SERVERS_WAIT).await;
            self.wait_for_required(client).await?;
            return self.missing(client);
        }
        if !self.wanted.tools.none && self.fleet.servers.enabled().next().is_some() {
            let id = printable(&model.id);
            self.fleet.reporter.say(format!("{id} cannot use tools: no server is started"));
        }
        Ok(())
    }

    /// Waits longer for servers that the task requires.
    async fn wait_for_required(&self, client: &Client) -> Result<(), Diagnostic> {
        for status in client.missing_required() {
            let entry = &self.fleet.servers.find(&status.server)?.entry;
            // A server that has stopped by then is reported as missing.
            let _ = client.wait_until_server_settled(&entry.name, patience([entry])).await;
        }
        Ok(())
    }

    /// Fails if a required server is missing; prints a note about late ones.
    fn missing(&self, client: &Client) -> Result<(), Diagnostic> {
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
                .say(format!("{name} is still connecting; its tools are added later"));
        }
        let bad = status.iter().filter(|status| {
            matches!(status.state, ServerState::Parked { .. } | ServerState::NeedsSignIn { .. })
        });
        for status in bad {
            let line = format!("{} is {}; its tools are unavailable", status.server, status.state);
            self.fleet.reporter.say(self.fleet.shown.first_line(&line));
        }
        Ok(())
    }

    /// The tools, in a form that this model supports.
    pub(crate) fn toolbox(
        &self,
        client: &Client,
        model: &Model,
        session: &Session,
    ) -> Result<Toolbox, Diagnostic> {
        let store = Box::new(ApprovalFile(session.home()?.approvals()));
        let gate =
            ApprovalGate::new(store, Arc::clone(&self.person), self.wanted.beforehand.clone())
                .in_projects(self.fleet.servers.projects.clone());
        let (shown, attacher) = (self.fleet.shown.clone(), Arc::clone(&self.attacher));
        let toolbox = Toolbox::new(client.clone(), gate, shown, attacher);
        let toolbox = toolbox.accepts(model.accepts.clone());
        if !model.takes_tools {
            return Ok(toolbox.closed());
        }
        let parallel = self.entries().into_iter().filter(|entry| entry.parallel_calls);
        let window = model.context_length.unwrap_or(UNKNOWN_WINDOW);
        let share = window * u64::from(self.config.tools_share) / 100;
        let toolbox = toolbox
            .parallel(parallel.map(|entry| entry.name))
            .most_tokens(u32::try_from(share).unwrap_or(u32::MAX));
        let has_plan = self.config.plan && !self.wanted.tools.none;
        let toolbox = if has_plan { toolbox.with(Arc::new(UpdatePlan)) } else { toolbox };
        if self.skills.catalogue.skills.is_empty() {
            return Ok(toolbox);
        }
        Ok(toolbox.with(self.skills.tool.clone()))
    }

    /// The metrics of tasks with this origin.
    pub(crate) fn counting(
        &self,
        entrypoint: Entrypoint,
        surface: ExecutionSurface,
    ) -> TaskMetrics {
        TaskMetrics { recorder: self.recorder.clone(), entrypoint, surface }
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.config.bounds()
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
    ) -> Result<Self, Diagnostic> {
        let places = SkillFolders::find(session)?;
        let log = SkillLog::new(&places, recorder.clone(), session.clock.clone());
        let mut catalogue = Catalogue::default();
        if !wanted.tools.none {
            catalogue = places.catalogue();
            catalogue.tell(session);
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

fn check_name(name: &str, fleet: &McpServers) -> Result<(), Diagnostic> {
    if name == OWN_SERVER || fleet.servers.entries().any(|entry| entry.name == *name) {
        return Ok(());
    }
    let known = fleet.servers.entries().map(|entry| entry.name.as_str()).chain([OWN_SERVER]);
    Err(Diagnostic::usage(format!("unknown server `{name}`"))
        .did_you_mean(nearest(name, known), "list servers with `agent mcp list`"))
}
