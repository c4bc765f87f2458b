//! Open conversations: each is an `agent chat` whose questions pages answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{Notify, watch};

use crate::program::{CommandError, Program};

/// Timeout for connecting the servers of a conversation and finding its model.
const MAX_START: Duration = Duration::from_secs(90);
/// Timeout for ending a conversation.
const MAX_END: Duration = Duration::from_secs(5);
/// Maximum stored events of one answer, for pages opened later: beyond it, text is merged and
/// progress is dropped. The other events are limited by the task loop.
const MAX_EVENTS: usize = 50_000;
/// Maximum open conversations.
const MAX_CHATS: usize = 20;

#[derive(Debug, Default)]
pub(crate) struct LiveChats {
    /// Not by id: `/clear` changes it.
    chats: Mutex<Vec<Arc<LiveChat>>>,
    /// One process per conversation, even with many tabs.
    starting: tokio::sync::Mutex<()>,
}

/// A running `agent chat`.
#[derive(Debug)]
pub(crate) struct LiveChat {
    id: Mutex<String>,
    pid: Option<Pid>,
    input: tokio::sync::Mutex<Option<ChildStdin>>,
    turn: Mutex<Turn>,
    /// Number of events since the process started.
    count: watch::Sender<u64>,
    has_ended: AtomicBool,
    ended: Notify,
}

/// Events of the current or last answer, of which the first is the message.
#[derive(Debug, Default)]
struct Turn {
    is_busy: bool,
    /// Number of the next event.
    next: u64,
    /// The events and their numbers; of merged ones, the number of the first.
    events: Vec<(u64, Value)>,
    /// Number of events at which they are merged.
    limit: usize,
}

impl Turn {
    fn new(next: u64) -> Self {
        Self { next, limit: MAX_EVENTS, ..Self::default() }
    }

    fn add(&mut self, event: Value) {
        if matches!(event["type"].as_str(), Some("idle" | "closed")) {
            self.is_busy = false;
        }
        if self.events.len() >= self.limit {
            self.merge();
            self.limit = MAX_EVENTS.max(self.events.len() * 2);
        }
        self.events.push((self.next, event));
        self.next += 1;
    }

    fn merge(&mut self) {
        self.events.retain(|(_, event)| event["type"] != "tool_progress");
        self.events.dedup_by(|(_, later), (_, event)| {
            let are_text = later["type"] == "text" && event["type"] == "text";
            if are_text && let Value::String(text) = &mut event["text"] {
                text.push_str(later["text"].as_str().unwrap_or_default());
            }
            are_text
        });
    }
}

impl LiveChats {
    fn chats(&self) -> MutexGuard<'_, Vec<Arc<LiveChat>>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<LiveChat>> {
        let mut chats = self.chats();
        chats.retain(|chat| !chat.has_ended.load(Ordering::Acquire));
        chats.iter().find(|chat| chat.id() == id).cloned()
    }

    /// Whether any conversation waits for an answer.
    pub(crate) fn is_any_busy(&self) -> bool {
        self.chats().iter().any(|chat| chat.turn().is_busy)
    }

    /// Resumes or starts a conversation.
    pub(crate) async fn begin(
        &self,
        program: &Program,
        id: Option<&str>,
        model: Option<&str>,
    ) -> Result<Arc<LiveChat>, CommandError> {
        let _one = self.starting.lock().await;
        if let Some(chat) = id.and_then(|id| self.find(id)) {
            return Ok(chat);
        }
        self.make_room().await?;
        let resumed = id.map(|id| format!("--resume={id}"));
        let model = model.map(|model| format!("--model={model}"));
        let mut words = vec!["--json", "chat", "--attended"];
        words.extend(resumed.as_deref());
        words.extend(model.as_deref());
        let chat = LiveChat::start(program, &words).await?;
        self.chats().push(Arc::clone(&chat));
        Ok(chat)
    }

    /// Ends an idle conversation, if there are too many.
    async fn make_room(&self) -> Result<(), CommandError> {
        let idle = {
            let chats = self.chats();
            if chats.len() < MAX_CHATS {
                return Ok(());
            }
            chats.iter().find(|chat| !chat.turn().is_busy).map(|chat| chat.id())
        };
        match idle {
            Some(id) => self.end(&id).await,
            None => return Err(CommandError::new("too many conversations are running; stop one")),
        }
        Ok(())
    }

    /// Ends a conversation; its messages stay stored.
    pub(crate) async fn end(&self, id: &str) {
        let ended = {
            let mut chats = self.chats();
            let at = chats.iter().position(|chat| chat.id() == id);
            at.map(|at| chats.remove(at))
        };
        if let Some(chat) = ended {
            chat.end().await;
        }
    }

    pub(crate) async fn end_all(&self) {
        let all = std::mem::take(&mut *self.chats());
        for chat in &all {
            drop(chat.input.lock().await.take());
        }
        for chat in all {
            chat.end().await;
        }
    }

    /// Makes all conversations reload the configuration. The person has just confirmed the
    /// programs of these servers.
    pub(crate) async fn reload(&self, confirmed: &[&str]) {
        let all = self.chats().clone();
        for chat in all {
            // An ended one reads the configuration when it is resumed.
            let _ = chat.send(&json!({"type": "reload", "confirmed": confirmed})).await;
        }
    }
}

impl LiveChat {
    async fn start(program: &Program, words: &[&str]) -> Result<Arc<Self>, CommandError> {
        let mut child = program.start(words)?;
        let pid = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        // Numbers of an ended process are not reused: pages may remember them.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = u64::try_from(now.as_millis()).unwrap_or(0).saturating_mul(1000);
        let chat = Arc::new(Self {
            id: Mutex::default(),
            pid,
            input: tokio::sync::Mutex::new(child.stdin.take()),
            turn: Mutex::new(Turn::new(first)),
            count: watch::Sender::new(first),
            has_ended: AtomicBool::new(false),
            ended: Notify::new(),
        });
        let (ready, mut is_ready) = watch::channel(false);
        let (failed, failure) = tokio::sync::oneshot::channel();
        tokio::spawn(Arc::clone(&chat).follow(child, ready, failed));
        let started = async { is_ready.wait_for(|is_ready| *is_ready).await.is_ok() };
        match tokio::time::timeout(MAX_START, started).await {
            Ok(true) => Ok(chat),
            Ok(false) => {
                let why = failure.await.unwrap_or_default();
                let last = why.lines().rev().find_map(CommandError::of_line);
                Err(last.unwrap_or_else(|| CommandError::new("the conversation cannot start")))
            }
            Err(_) => {
                chat.end().await;
                Err(CommandError::new("the model and the servers did not answer in time"))
            }
        }
    }

    /// Reads the events of the process until it ends.
    async fn follow(
        self: Arc<Self>,
        mut child: Child,
        ready: watch::Sender<bool>,
        failed: tokio::sync::oneshot::Sender<String>,
    ) {
        let (Some(out), Some(notes)) = (child.stdout.take(), child.stderr.take()) else { return };
        let mut events = BufReader::new(out).lines();
        let chat = Arc::clone(&self);
        let notes = tokio::spawn(async move {
            let (mut lines, mut last) = (BufReader::new(notes).lines(), String::new());
            while let Ok(Some(line)) = lines.next_line().await {
                let Ok(value) = serde_json::from_str::<Value>(&line) else { continue };
                if value["error"].is_object() || value["warning"].is_object() {
                    last.clone_from(&line);
                    chat.take(value);
                }
            }
            last
        });
        while let Ok(Some(line)) = events.next_line().await {
            let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
            if event["type"] == "ready" || event["type"] == "cleared" {
                let id = event["id"].as_str().unwrap_or_default();
                id.clone_into(&mut self.id.lock().unwrap_or_else(PoisonError::into_inner));
            }
            let is_idle = event["type"] == "idle";
            self.take(event);
            if is_idle {
                ready.send_replace(true);
            }
        }
        // It has no receiver once the conversation has started.
        let _ = failed.send(notes.await.unwrap_or_default());
        drop(ready);
        let _ = child.wait().await;
        self.take(json!({"type": "closed"}));
        self.has_ended.store(true, Ordering::Release);
        self.ended.notify_waiters();
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn id(&self) -> String {
        self.id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, event: Value) {
        let next = {
            let mut turn = self.turn();
            turn.add(event);
            turn.next
        };
        self.count.send_replace(next);
    }

    pub(crate) async fn send(&self, line: &Value) -> Result<(), CommandError> {
        let mut input = self.input.lock().await;
        let closed = || CommandError::new("the conversation has ended; reload the page");
        let pipe = input.as_mut().ok_or_else(closed)?;
        pipe.write_all(format!("{line}\n").as_bytes()).await.map_err(|_| closed())
    }

    /// Sends a message; one at a time.
    pub(crate) async fn say(&self, text: &str) -> Result<(), CommandError> {
        let next = {
            let mut turn = self.turn();
            if turn.is_busy {
                return Err(CommandError::new("wait for the answer, or stop it"));
            }
            *turn = Turn { is_busy: true, ..Turn::new(turn.next) };
            turn.add(json!({"type": "said", "text": text}));
            turn.next
        };
        self.count.send_replace(next);
        let sent = self.send(&json!({"type": "message", "text": text})).await;
        if sent.is_err() {
            self.turn().is_busy = false;
        }
        sent
    }

    /// Ctrl-C: the answer stops, and the conversation continues.
    pub(crate) fn stop(&self) {
        if let Some(pid) = self.pid.filter(|_| !self.has_ended.load(Ordering::Acquire)) {
            // It may have just ended.
            let _ = kill_process(pid, Signal::INT);
        }
    }

    async fn end(&self) {
        drop(self.input.lock().await.take());
        let ended = self.ended.notified();
        if self.has_ended.load(Ordering::Acquire) {
            return;
        }
        if self.turn().is_busy {
            self.stop();
        }
        if tokio::time::timeout(MAX_END, ended).await.is_err()
            && let Some(pid) = self.pid
        {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// The message that waits for its answer, if any, and the number of the first event after it.
    pub(crate) fn open_message(&self) -> (Option<String>, u64) {
        let turn = self.turn();
        match turn.events.first().filter(|_| turn.is_busy) {
            Some((first, said)) => {
                (Some(said["text"].as_str().unwrap_or_default().to_owned()), first + 1)
            }
            None => (None, turn.next),
        }
    }

    /// Waits for events from a number on; returns them and the next number; `None` at the end of
    /// the conversation.
    pub(crate) async fn next_events(&self, from: u64) -> Option<(u64, Vec<(u64, Value)>)> {
        let mut count = self.count.subscribe();
        loop {
            count.mark_unchanged();
            let (next, events) = self.events_from(from);
            if !events.is_empty() {
                return Some((next, events));
            }
            if self.has_ended.load(Ordering::Acquire) || count.changed().await.is_err() {
                return None;
            }
        }
    }

    /// The events from a number on, and the next number.
    fn events_from(&self, from: u64) -> (u64, Vec<(u64, Value)>) {
        let turn = self.turn();
        let events = turn.events.iter().filter(|(number, _)| *number >= from);
        (turn.next, events.cloned().collect())
    }
}

#[cfg(test)]
mod tests;
