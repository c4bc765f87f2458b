//! All configured servers as one client: started together, called by registered tool name, reloaded
//! by difference.

mod library;
mod task;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

pub use self::library::Completed;
use crate::config::ServerEntry;
use crate::content::ToolOutcome;
use crate::error::Error;
use crate::guardian::Guardian;
use crate::host::{ApprovalDecision, Host};
use crate::registry::{Registry, ServerTools, ToolAction};
use crate::session::{
    CallOptions, CallReply, ReconnectState, Session, SessionConnector, StepObserver,
};
use crate::supervisor::{
    CallEffect, PublishTools, ServerHandle, ServerState, ServerStatus, Supervisor,
};
use crate::sync::lock;

const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);

/// All configured servers. Cheap to clone. [`Client::close`] stops them and waits; dropping the
/// last clone stops them in the background.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    host: Arc<Host>,
    guardian: Arc<Guardian>,
    tasks: TaskTracker,
    slots: Mutex<Vec<ServerSlot>>,
    registry: ArcSwap<Registry>,
    version: watch::Sender<u64>,
    next_slot: AtomicU64,
}

struct ServerSlot {
    /// Distinguishes this run of a server from earlier ones under the same name.
    id: u64,
    entry: Arc<ServerEntry>,
    handle: ServerHandle,
    part: Option<Arc<ServerTools>>,
}

/// The servers that a reload affects, grouped by effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadReport {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub restarted: Vec<String>,
    /// Only their policy changed: the connection stays.
    pub updated: Vec<String>,
    pub unchanged: Vec<String>,
}

impl ReloadReport {
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, restarted, updated, unchanged: _ } = self;
        [added, removed, restarted, updated].iter().all(|names| names.is_empty())
    }

    fn of(slots: &[ServerSlot], entries: &[ServerEntry]) -> Self {
        let mut report = Self::default();
        for entry in entries {
            let list = match slots.iter().find(|slot| slot.entry.name == entry.name) {
                None => &mut report.added,
                Some(slot) if *slot.entry == *entry => &mut report.unchanged,
                Some(slot) if slot.entry.same_connection(entry) => &mut report.updated,
                Some(_) => &mut report.restarted,
            };
            list.push(entry.name.clone());
        }
        let is_gone =
            |slot: &&ServerSlot| entries.iter().all(|entry| entry.name != slot.entry.name);
        report.removed.extend(slots.iter().filter(is_gone).map(|slot| slot.entry.name.clone()));
        report
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// Starts every enabled server in the background and returns at once.
    pub fn start(entries: impl IntoIterator<Item = ServerEntry>, host: Host) -> Self {
        let inner = Arc::new(Inner {
            guardian: Arc::new(Guardian::new(host.guardian.clone())),
            host: Arc::new(host),
            tasks: TaskTracker::new(),
            slots: Mutex::default(),
            registry: ArcSwap::from_pointee(Registry::assemble(&[])),
            version: watch::Sender::new(0),
            next_slot: AtomicU64::new(0),
        });
        let slots = entries.into_iter().map(|entry| inner.slot(Arc::new(entry), None));
        inner.slots().extend(slots);
        Self { inner }
    }

    /// An immutable snapshot of the registered tools.
    pub fn registry(&self) -> Arc<Registry> {
        self.inner.registry.load_full()
    }

    /// Receives a new version number whenever the registry changes.
    pub fn registry_changes(&self) -> watch::Receiver<u64> {
        self.inner.version.subscribe()
    }

    /// The status of each server, in the order of the configuration.
    pub fn status(&self) -> Vec<ServerStatus> {
        let slots = self.inner.slots();
        slots.iter().map(|slot| slot.handle.status.borrow().clone()).collect()
    }

    /// The instructions for models of the servers that have tools, by server.
    pub fn instructions(&self) -> Vec<(String, Arc<str>)> {
        let slots = self.inner.slots();
        let with_tools = slots.iter().filter(|slot| slot.part.is_some());
        let instructions = with_tools.filter_map(|slot| {
            let text = slot.handle.status.borrow().instructions.clone()?;
            let is_used = slot.entry.rejects_instructions(&text).is_none();
            is_used.then(|| (slot.entry.name.clone(), text))
        });
        instructions.collect()
    }

    /// Waits until no server is connecting any more, at most `most`.
    pub async fn wait_until_settled(&self, most: Duration) {
        let watched: Vec<_> =
            self.inner.slots().iter().map(|slot| slot.handle.status.clone()).collect();
        let all = async {
            for mut status in watched {
                let _ = status.wait_for(|status| status.state.is_settled()).await;
            }
        };
        let _ = tokio::time::timeout(most, all).await;
    }

    /// As [`Client::wait_until_settled`], for one server.
    pub async fn wait_until_server_settled(
        &self,
        name: &str,
        most: Duration,
    ) -> Result<ServerStatus, Error> {
        let mut status = self.handle(name)?.status;
        let settled = status.wait_for(|status| status.state.is_settled());
        let found = match tokio::time::timeout(most, settled).await {
            Ok(Ok(found)) => Some(found.clone()),
            _ => None,
        };
        Ok(found.unwrap_or_else(|| status.borrow().clone()))
    }

    /// The required servers that are not available.
    pub fn missing_required(&self) -> Vec<ServerStatus> {
        let slots = self.inner.slots();
        let required = slots.iter().filter(|slot| slot.entry.required && slot.entry.enabled);
        let status = required.map(|slot| slot.handle.status.borrow().clone());
        status
            .filter(|status| !matches!(status.state, ServerState::Ready | ServerState::Recycled))
            .collect()
    }

    /// Calls a tool by its registered name. The host approves calls that the trust policy covers.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        mut options: CallOptions,
    ) -> Result<ToolOutcome, Error> {
        let registry = self.registry();
        let entry =
            registry.lookup(name).ok_or_else(|| Error::UnknownTool { name: name.to_owned() })?;
        let handle = self.handle(&entry.server)?;
        // The entry may have been updated after the session was opened.
        options.timeout = options.timeout.or_else(|| Some(handle.timeout()));
        let is_allowed = match &options.approved {
            // The definition may have changed since it was approved.
            Some(approved) => entry.digest() == *approved,
            None if entry.needs_approval() => {
                let request = entry.approval_request(&arguments);
                self.inner.host.approver.decide(request).await == ApprovalDecision::Allow
            }
            None => true,
        };
        if !is_allowed {
            return Err(Error::NotApproved { tool: name.to_owned() });
        }
        let outcome = match &entry.action {
            ToolAction::Tool(tool) => {
                let effect =
                    if tool.read_only() { CallEffect::ReadOnly } else { CallEffect::MayWrite };
                let (arguments, options) = (&arguments, &options);
                let call = |session: Session| async move {
                    session.call_tool(tool, arguments, options).await
                };
                match handle.run(name, effect, call).await? {
                    CallReply::Done(outcome) => Ok(outcome),
                    CallReply::Task(task) => {
                        return self.own_task(&handle, name, task, options).await;
                    }
                }
            }
            utility => library::run_utility(&handle, name, utility, &arguments, &options).await,
        };
        outcome.map(|outcome| outcome.redacted(&self.inner.host.redactor))
    }

    /// Opens a session for the caller alone, without supervision, and reports each step.
    pub async fn connect_unsupervised(
        &self,
        entry: &ServerEntry,
        steps: StepObserver<'_>,
    ) -> Result<Session, Error> {
        let entry = Arc::new(entry.clone());
        let connector = SessionConnector {
            entry: &entry,
            host: &self.inner.host,
            guardian: &self.inner.guardian,
            tasks: &self.inner.tasks,
            reconnect_state: &ReconnectState::default(),
            steps: Some(steps),
        };
        connector.connect().await
    }

    /// The report that [`Client::reload`] would return for these entries.
    pub fn plan_reload(&self, entries: &[ServerEntry]) -> ReloadReport {
        ReloadReport::of(&self.inner.slots(), entries)
    }

    /// Makes the set of servers equal to `entries` and leaves unchanged servers alone. A restarted
    /// server stops before it starts again.
    pub fn reload(&self, entries: Vec<ServerEntry>) -> ReloadReport {
        let mut slots = self.inner.slots();
        let mut report = ReloadReport::of(&slots, &entries);
        report.removed.sort_unstable();
        let mut old: BTreeMap<String, ServerSlot> =
            slots.drain(..).map(|slot| (slot.entry.name.clone(), slot)).collect();
        for entry in entries {
            let entry = Arc::new(entry);
            let slot = match old.remove(&entry.name) {
                Some(slot) if slot.entry == entry => slot,
                Some(slot) if slot.entry.same_connection(&entry) => {
                    slot.handle.entry.send_replace(Arc::clone(&entry));
                    ServerSlot { entry, ..slot }
                }
                before => self.inner.slot(entry, before.map(|slot| slot.handle)),
            };
            slots.push(slot);
        }
        for gone in old.into_values() {
            gone.handle.stop.cancel();
        }
        self.inner.rebuild(&slots);
        report
    }

    pub fn reconnect(&self, name: &str) -> Result<(), Error> {
        self.handle(name)?.reconnect.notify_one();
        Ok(())
    }

    /// Stops every server and waits until its processes and tasks have ended.
    pub async fn close(&self) {
        self.inner.stop();
        self.inner.tasks.close();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.inner.tasks.wait()).await;
    }

    fn handle(&self, server: &str) -> Result<ServerHandle, Error> {
        let slots = self.inner.slots();
        let slot = slots.iter().find(|slot| slot.entry.name == server);
        let unknown = || Error::UnknownServer { name: server.to_owned() };
        slot.map(|slot| slot.handle.clone()).ok_or_else(unknown)
    }

    /// Runs a call that only reads on a server's session; `label` names it in errors.
    async fn read<T, F>(
        &self,
        server: &str,
        label: &str,
        call: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.handle(server)?.run(label, CallEffect::ReadOnly, call).await
    }
}

impl Inner {
    /// Starts the supervisor of a server, after the server it replaces has stopped.
    fn slot(
        self: &Arc<Self>,
        entry: Arc<ServerEntry>,
        replaced: Option<ServerHandle>,
    ) -> ServerSlot {
        let id = self.next_slot.fetch_add(1, Ordering::Relaxed);
        let weak = Arc::downgrade(self);
        let publish: PublishTools = Arc::new(move |part| {
            if let Some(inner) = weak.upgrade() {
                inner.publish(id, part);
            }
        });
        let (supervisor, handle) = Supervisor::new(
            Arc::clone(&entry),
            Arc::clone(&self.host),
            Arc::clone(&self.guardian),
            publish,
        );
        self.tasks.spawn(async move {
            if let Some(mut old) = replaced {
                old.stop.cancel();
                // A supervisor that has stopped drops its status sender.
                while old.status.changed().await.is_ok() {}
            }
            supervisor.run().await;
        });
        ServerSlot { id, entry, handle, part: None }
    }

    fn slots(&self) -> MutexGuard<'_, Vec<ServerSlot>> {
        lock(&self.slots)
    }

    fn stop(&self) {
        for slot in self.slots().iter() {
            slot.handle.stop.cancel();
        }
    }

    fn publish(&self, id: u64, part: Option<Arc<ServerTools>>) {
        let mut slots = self.slots();
        let Some(slot) = slots.iter_mut().find(|slot| slot.id == id) else { return };
        if slot.part.is_none() && part.is_none() {
            return;
        }
        slot.part = part;
        self.rebuild(&slots);
    }

    fn rebuild(&self, slots: &[ServerSlot]) {
        let parts: Vec<Arc<ServerTools>> =
            slots.iter().filter_map(|slot| slot.part.clone()).collect();
        self.registry.store(Arc::new(Registry::assemble(&parts)));
        self.version.send_modify(|version| *version += 1);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}
