//! All configured servers as one: started together, called by registered name, reloaded by what
//! changed.

mod utility;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::config::ServerEntry;
use crate::content::ToolOutcome;
use crate::error::Error;
use crate::guardian::Guardian;
use crate::host::{Approval, Decision, Host};
use crate::registry::{Action, Entry, Registry, ServerPart};
use crate::session::{CallOptions, Dialer, Memory, Session, Trace};
use crate::supervise::{Effect, Handle, Keeper, Publish, State, Status};

/// How long closing waits for everything to end.
const CLOSE: Duration = Duration::from_secs(15);

/// All configured servers. Cheap to clone. [`Client::close`] ends them in good order; dropping the
/// last clone ends them as well, in the background.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    host: Arc<Host>,
    guardian: Arc<Guardian>,
    tasks: TaskTracker,
    shared: Arc<Shared>,
}

/// What keepers reach too.
struct Shared {
    slots: Mutex<Vec<Slot>>,
    registry: ArcSwap<Registry>,
    version: watch::Sender<u64>,
    next_slot: AtomicU64,
}

struct Slot {
    /// Tells this run of a server from earlier ones under the same name.
    id: u64,
    entry: Arc<ServerEntry>,
    handle: Handle,
    part: Option<Arc<ServerPart>>,
}

/// What a reload did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Servers that are new.
    pub added: Vec<String>,
    /// Servers that are gone.
    pub removed: Vec<String>,
    /// Servers that were connected anew.
    pub restarted: Vec<String>,
    /// Servers whose policy changed while they kept running.
    pub adopted: Vec<String>,
    /// Servers that were not touched.
    pub kept: Vec<String>,
}

/// What becomes of a server whose entry was read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Added,
    Restarted,
    Adopted,
    Kept,
}

impl Fate {
    fn of(old: Option<&ServerEntry>, new: &ServerEntry) -> Self {
        match old {
            None => Self::Added,
            Some(old) if old == new => Self::Kept,
            Some(old) if old.same_connection(new) => Self::Adopted,
            Some(_) => Self::Restarted,
        }
    }
}

impl Reloaded {
    /// Whether nothing changes.
    pub fn is_nothing(&self) -> bool {
        let Self { added, removed, restarted, adopted, kept: _ } = self;
        [added, removed, restarted, adopted].iter().all(|names| names.is_empty())
    }

    fn of(&mut self, fate: Fate) -> &mut Vec<String> {
        match fate {
            Fate::Added => &mut self.added,
            Fate::Restarted => &mut self.restarted,
            Fate::Adopted => &mut self.adopted,
            Fate::Kept => &mut self.kept,
        }
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
        let shared = Shared {
            slots: Mutex::default(),
            registry: ArcSwap::from_pointee(Registry::assemble(&[])),
            version: watch::Sender::new(0),
            next_slot: AtomicU64::new(0),
        };
        let guardian = Arc::new(Guardian::new(host.guardian.clone()));
        let host = Arc::new(host);
        let inner = Inner { host, guardian, tasks: TaskTracker::new(), shared: Arc::new(shared) };
        let client = Self { inner: Arc::new(inner) };
        let mut slots = client.inner.shared.lock();
        slots.extend(entries.into_iter().map(|entry| client.inner.slot(Arc::new(entry), None)));
        drop(slots);
        client
    }

    /// What can be called at this moment: a snapshot that never changes.
    pub fn registry(&self) -> Arc<Registry> {
        self.inner.shared.registry.load_full()
    }

    /// Changes whenever the registry does.
    pub fn registry_changes(&self) -> watch::Receiver<u64> {
        self.inner.shared.version.subscribe()
    }

    /// How each server is, in the order of the configuration.
    pub fn status(&self) -> Vec<Status> {
        let slots = self.inner.shared.lock();
        slots.iter().map(|slot| slot.handle.status.borrow().clone()).collect()
    }

    /// Waits until every server is ready, parked or otherwise settled, but no longer than `most`.
    pub async fn settled(&self, most: Duration) {
        let watched: Vec<_> =
            self.inner.shared.lock().iter().map(|slot| slot.handle.status.clone()).collect();
        let all = async {
            for mut status in watched {
                let _ = status.wait_for(|status| status.state.is_settled()).await;
            }
        };
        let _ = tokio::time::timeout(most, all).await;
    }

    /// Waits until one server is settled.
    pub async fn server_settled(&self, name: &str, most: Duration) -> Result<Status, Error> {
        let mut status = self.handle(name)?.status;
        let settled = status.wait_for(|status| status.state.is_settled());
        let found = match tokio::time::timeout(most, settled).await {
            Ok(Ok(found)) => Some(found.clone()),
            _ => None,
        };
        Ok(found.unwrap_or_else(|| status.borrow().clone()))
    }

    /// The servers that must be there and are not.
    pub fn missing_required(&self) -> Vec<Status> {
        let slots = self.inner.shared.lock();
        let required = slots.iter().filter(|slot| slot.entry.required && slot.entry.enabled);
        let status = required.map(|slot| slot.handle.status.borrow().clone());
        status.filter(|status| !matches!(status.state, State::Ready | State::Recycled)).collect()
    }

    /// Calls a tool by its registered name. Asks for approval where trust demands it.
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
        // As the configuration is now: the session may be older.
        options.timeout = options.timeout.or_else(|| Some(handle.timeout()));
        let is_allowed = match &options.approved {
            // The definition may have changed since it was approved, whatever it claims now.
            Some(approved) => entry.digest().as_ref() == Some(approved),
            None if entry.needs_approval() => {
                self.decide(entry, &arguments).await == Decision::Allow
            }
            None => true,
        };
        if !is_allowed {
            return Err(Error::NotApproved { tool: name.to_owned() });
        }
        let outcome = match &entry.action {
            Action::Tool(tool) => {
                let effect = if tool.read_only() { Effect::None } else { Effect::Some };
                let (arguments, options) = (&arguments, &options);
                let call = |session: Session| async move {
                    session.call_tool(tool, arguments, options).await
                };
                handle.run(name, effect, call).await
            }
            utility => utility::run(&handle, name, utility, &arguments, &options).await,
        };
        outcome.map(|outcome| outcome.cleaned(&self.inner.host.redactor))
    }

    /// A session of its own to a server, connected step by step for whoever watches. It is not
    /// supervised and belongs to the caller.
    pub async fn dial(&self, entry: &ServerEntry, trace: Trace<'_>) -> Result<Session, Error> {
        let entry = Arc::new(entry.clone());
        let dialer = Dialer {
            entry: &entry,
            host: &self.inner.host,
            guardian: &self.inner.guardian,
            tasks: &self.inner.tasks,
            memory: &Memory::default(),
            trace: Some(trace),
        };
        dialer.connect().await
    }

    /// What [`Client::reload`] would do with these entries.
    pub fn would_reload(&self, entries: &[ServerEntry]) -> Reloaded {
        let mut plan = Reloaded::default();
        let slots = self.inner.shared.lock();
        for entry in entries {
            let old = slots.iter().find(|slot| slot.entry.name == entry.name);
            plan.of(Fate::of(old.map(|slot| &*slot.entry), entry)).push(entry.name.clone());
        }
        let is_gone = |slot: &&Slot| entries.iter().all(|entry| entry.name != slot.entry.name);
        plan.removed.extend(slots.iter().filter(is_gone).map(|slot| slot.entry.name.clone()));
        plan
    }

    /// Makes the set of servers what `entries` say, touching only what changed. A server that is
    /// restarted has ended before it begins again.
    pub fn reload(&self, entries: Vec<ServerEntry>) -> Reloaded {
        let mut done = Reloaded::default();
        let mut slots = self.inner.shared.lock();
        let mut old: BTreeMap<String, Slot> =
            slots.drain(..).map(|slot| (slot.entry.name.clone(), slot)).collect();
        for entry in entries {
            let name = entry.name.clone();
            let entry = Arc::new(entry);
            let before = old.remove(&name);
            let fate = Fate::of(before.as_ref().map(|slot| &*slot.entry), &entry);
            done.of(fate).push(name);
            let slot = match (before, fate) {
                (Some(slot), Fate::Kept) => slot,
                (Some(slot), Fate::Adopted) => {
                    slot.handle.adopt(Arc::clone(&entry));
                    Slot { entry, ..slot }
                }
                (before, _) => self.inner.slot(entry, before.map(|slot| slot.handle)),
            };
            slots.push(slot);
        }
        for (name, slot) in old {
            slot.handle.stop.cancel();
            done.removed.push(name);
        }
        self.inner.shared.rebuild(&slots);
        done
    }

    /// Connects a server anew, at once.
    pub fn reconnect(&self, name: &str) -> Result<(), Error> {
        self.handle(name)?.reconnect();
        Ok(())
    }

    /// Ends every server and waits until nothing of them is left.
    pub async fn close(&self) {
        self.inner.stop();
        self.inner.tasks.close();
        let _ = tokio::time::timeout(CLOSE, self.inner.tasks.wait()).await;
    }

    fn handle(&self, server: &str) -> Result<Handle, Error> {
        let slots = self.inner.shared.lock();
        let slot = slots.iter().find(|slot| slot.entry.name == server);
        let unknown = || Error::UnknownServer { name: server.to_owned() };
        slot.map(|slot| slot.handle.clone()).ok_or_else(unknown)
    }

    async fn decide(&self, entry: &Entry, arguments: &Value) -> Decision {
        let approval = Approval {
            server: entry.server.to_string(),
            tool: entry.name.to_string(),
            native_name: entry.native().to_owned(),
            description: entry.description.to_string(),
            arguments: arguments.clone(),
        };
        self.inner.host.approver.decide(approval).await
    }
}

impl Inner {
    /// A place for a server, whose keeper begins as soon as the server it replaces has ended.
    fn slot(&self, entry: Arc<ServerEntry>, replaced: Option<Handle>) -> Slot {
        let id = self.shared.next_slot.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::downgrade(&self.shared);
        let publish: Publish = Arc::new(move |part| {
            if let Some(shared) = shared.upgrade() {
                shared.publish(id, part);
            }
        });
        let (keeper, handle) = Keeper::new(
            Arc::clone(&entry),
            Arc::clone(&self.host),
            Arc::clone(&self.guardian),
            publish,
        );
        self.tasks.spawn(async move {
            if let Some(mut old) = replaced {
                old.stop.cancel();
                // A keeper that is done lets go of its status.
                while old.status.changed().await.is_ok() {}
            }
            keeper.run().await;
        });
        Slot { id, entry, handle, part: None }
    }

    fn stop(&self) {
        for slot in self.shared.lock().iter() {
            slot.handle.stop.cancel();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, id: u64, part: Option<Arc<ServerPart>>) {
        let mut slots = self.lock();
        let Some(slot) = slots.iter_mut().find(|slot| slot.id == id) else { return };
        if slot.part.is_none() && part.is_none() {
            return;
        }
        slot.part = part;
        self.rebuild(&slots);
    }

    /// One new snapshot, in the order of the configuration.
    fn rebuild(&self, slots: &[Slot]) {
        let parts: Vec<Arc<ServerPart>> =
            slots.iter().filter_map(|slot| slot.part.clone()).collect();
        self.registry.store(Arc::new(Registry::assemble(&parts)));
        self.version.send_modify(|version| *version += 1);
    }
}
