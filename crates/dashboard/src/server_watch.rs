//! The state of the servers, from `agent mcp list --watch` while a page is open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::program::Program;

/// How long the servers keep running after the last request.
const MAX_IDLE: Duration = Duration::from_mins(5);
const FIRST_STATES: Duration = Duration::from_secs(2);

/// Output of `agent mcp list --json` for one server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServerState {
    pub(crate) name: String,
    pub(crate) transport: String,
    pub(crate) era: Option<String>,
    pub(crate) server_info: Option<String>,
    pub(crate) state: String,
    pub(crate) reason: Option<String>,
    pub(crate) said: Vec<String>,
    pub(crate) hints: Vec<String>,
    pub(crate) latency_ms: Option<u64>,
    pub(crate) tools: usize,
    pub(crate) tokens: u64,
    pub(crate) quarantined: Vec<LeftOut>,
    pub(crate) skipped: Vec<LeftOut>,
    pub(crate) notes: Vec<String>,
}

/// An unusable tool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LeftOut {
    pub(crate) name: String,
    pub(crate) reason: String,
}

#[derive(Debug, Default)]
pub(crate) struct ServerWatch {
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    states: watch::Receiver<Arc<BTreeMap<String, ServerState>>>,
    looked: Arc<Mutex<Instant>>,
    task: AbortHandle,
}

impl ServerWatch {
    /// The current states. The first request starts the servers and waits briefly for them.
    pub(crate) async fn states(&self, program: &Program) -> Arc<BTreeMap<String, ServerState>> {
        let (mut states, is_new) = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(running) = running.as_ref().filter(|it| !it.task.is_finished()) {
                *running.looked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                (running.states.clone(), false)
            } else {
                let started = start(program.clone());
                let states = started.states.clone();
                *running = Some(started);
                (states, true)
            }
        };
        if is_new {
            let first = states.wait_for(|states| !states.is_empty());
            let _ = tokio::time::timeout(FIRST_STATES, first).await;
        }
        let now = states.borrow();
        Arc::clone(&now)
    }
}

fn start(program: Program) -> Running {
    let (sender, states) = watch::channel(Arc::default());
    let looked = Arc::new(Mutex::new(Instant::now()));
    let last_look = Arc::clone(&looked);
    let is_idle =
        move || last_look.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > MAX_IDLE;
    let task = tokio::spawn(async move {
        let Ok(mut child) = program.start(&["--json", "mcp", "list", "--watch"]) else { return };
        let (Some(out), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else { return };
        drop(child.stderr.take());
        let mut lines = BufReader::new(out).lines();
        let mut check = tokio::time::interval(MAX_IDLE / 10);
        loop {
            tokio::select! {
                line = lines.next_line() => {
                    let Ok(Some(line)) = line else { break };
                    let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
                    sender.send_modify(|states| take(Arc::make_mut(states), &line));
                }
                _ = check.tick() => if is_idle() { break },
            }
        }
        drop(stdin);
    });
    Running { states, looked, task: task.abort_handle() }
}

/// Processes an output line: a changed server, or a new configuration.
fn take(states: &mut BTreeMap<String, ServerState>, line: &Value) {
    match line["event"].as_str() {
        Some("server") => {
            if let Ok(state) = ServerState::deserialize(line) {
                states.insert(state.name.clone(), state);
            }
        }
        Some("reloaded") => {
            let removed = line["removed"].as_array().into_iter().flatten();
            for name in removed.filter_map(Value::as_str) {
                states.remove(name);
            }
        }
        _ => {}
    }
}
