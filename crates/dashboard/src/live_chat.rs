//! Open conversations: each is an `agent chat` whose questions pages answer.

use std::collections::HashMap;
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
/// Maximum stored events of one answer, for pages opened later.
const MAX_EVENTS: usize = 50_000;
/// Maximum open conversations.
const MAX_CHATS: usize = 20;

/// The open conversations, by id.
#[derive(Debug, Default)]
pub(crate) struct LiveChats {
    chats: Mutex<HashMap<String, Arc<LiveChat>>>,
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

/// Events of the current or last answer.
#[derive(Debug, Default)]
struct Turn {
    is_busy: bool,
    /// Number of the first event.
    first: u64,
    events: Vec<Value>,
}

impl LiveChats {
    fn chats(&self) -> MutexGuard<'_, HashMap<String, Arc<LiveChat>>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<LiveChat>> {
        let mut chats = self.chats();
        chats.retain(|_, chat| !chat.has_ended.load(Ordering::Acquire));
        chats.get(id).cloned()
    }

    /// Whether any conversation waits for an answer.
    pub(crate) fn is_any_busy(&self) -> bool {
        self.chats().values().any(|chat| chat.turn().is_busy)
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
        self.chats().insert(chat.id(), Arc::clone(&chat));
        Ok(chat)
    }

    /// Ends an idle conversation, if there are too many.
    async fn make_room(&self) -> Result<(), CommandError> {
        let idle = {
            let chats = self.chats();
            if chats.len() < MAX_CHATS {
                return Ok(());
            }
            chats.iter().find(|(_, chat)| !chat.turn().is_busy).map(|(id, _)| id.clone())
        };
        match idle {
            Some(id) => self.end(&id).await,
            None => return Err(CommandError::new("too many conversations are running; stop one")),
        }
        Ok(())
    }

    /// Ends a conversation; its messages stay stored.
    pub(crate) async fn end(&self, id: &str) {
        let chat = self.chats().remove(id);
        if let Some(chat) = chat {
            chat.end().await;
        }
    }

    pub(crate) async fn end_all(&self) {
        let all: Vec<Arc<LiveChat>> = self.chats().drain().map(|(_, chat)| chat).collect();
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
        let all: Vec<Arc<LiveChat>> = self.chats().values().cloned().collect();
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
            turn: Mutex::new(Turn { first, ..Turn::default() }),
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
            if event["type"] == "ready" {
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
        self.turn().is_busy = false;
        self.take(json!({"type": "closed"}));
        self.has_ended.store(true, Ordering::Release);
        self.ended.notify_waiters();
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.turn().is_busy
    }

    pub(crate) fn id(&self) -> String {
        self.id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, event: Value) {
        let mut turn = self.turn();
        if matches!(event["type"].as_str(), Some("idle" | "closed")) {
            turn.is_busy = false;
        }
        if turn.events.len() < MAX_EVENTS {
            turn.events.push(event);
        }
        let count = turn.first + turn.events.len() as u64;
        drop(turn);
        self.count.send_replace(count);
    }

    pub(crate) async fn send(&self, line: &Value) -> Result<(), CommandError> {
        let mut input = self.input.lock().await;
        let closed = || CommandError::new("the conversation has ended; reload the page");
        let pipe = input.as_mut().ok_or_else(closed)?;
        pipe.write_all(format!("{line}\n").as_bytes()).await.map_err(|_| closed())
    }

    /// Sends a message; one at a time.
    pub(crate) async fn say(&self, text: &str) -> Result<(), CommandError> {
        {
            let mut turn = self.turn();
            if turn.is_busy {
                return Err(CommandError::new("wait for the answer, or stop it"));
            }
            let first = turn.first + turn.events.len() as u64;
            *turn = Turn { is_busy: true, first, events: Vec::new() };
        }
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

    /// The first event for a page that shows everything before: that of the current answer.
    pub(crate) fn next_event(&self) -> u64 {
        let turn = self.turn();
        if turn.is_busy { turn.first } else { turn.first + turn.events.len() as u64 }
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
        let skipped = usize::try_from(from.saturating_sub(turn.first)).unwrap_or(usize::MAX);
        let numbered = (turn.first..).zip(&turn.events).skip(skipped);
        let events: Vec<(u64, Value)> = numbered.map(|(at, event)| (at, event.clone())).collect();
        (turn.first + turn.events.len() as u64, events)
    }
}
