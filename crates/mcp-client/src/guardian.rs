//! A second process that ends the servers' processes if ours is killed.
//!
//! The command in `Host::guardian` must call [`run`]. The guardian reads a pipe whose other end
//! only we hold: lines add and remove process groups, and when the pipe closes because we are gone,
//! the remaining groups are terminated.

use std::io::{self, BufRead};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::process;
use crate::sync::lock;

const MAX_STARTS: u32 = 5;

/// The body of the guardian process: returns after termination of all groups.
pub fn run(pipe: impl BufRead, owner: &str) {
    let mut groups: Vec<i32> = Vec::new();
    for line in pipe.lines() {
        let Ok(line) = line else { break };
        let (sign, number) = line.split_at(line.len().min(1));
        match (sign, number.parse()) {
            ("+", Ok(group)) => groups.push(group),
            ("-", Ok(group)) => groups.retain(|known| *known != group),
            _ => {}
        }
    }
    process::terminate_blocking(&groups, &format!("{owner}."));
}

/// The writing end of the pipe. Starts the guardian before the first server, and restarts it if it
/// died.
#[derive(Debug)]
pub(crate) struct Guardian {
    command: Option<Vec<String>>,
    owner: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    child: Option<std::process::Child>,
    groups: Vec<i32>,
    starts: u32,
    next_server: u64,
}

impl Guardian {
    pub(crate) fn new(command: Option<Vec<String>>) -> Self {
        let owner = format!("{:016x}", fastrand::u64(..));
        Self { command, owner, state: Mutex::default() }
    }

    /// The marker of the next server. The guardian runs before the server starts.
    pub(crate) fn next_marker(&self) -> String {
        let mut state = lock(&self.state);
        state.next_server += 1;
        let marker = format!("{}.{}.", self.owner, state.next_server);
        self.start_if_needed(&mut state);
        marker
    }

    pub(crate) fn add(&self, group: i32) {
        let mut state = lock(&self.state);
        state.groups.push(group);
        self.send(&mut state, &format!("+{group}\n"));
    }

    pub(crate) fn remove(&self, group: i32) {
        let mut state = lock(&self.state);
        state.groups.retain(|known| *known != group);
        self.send(&mut state, &format!("-{group}\n"));
    }

    fn send(&self, state: &mut State, line: &str) {
        if write(state, line).is_err() {
            if let Some(mut gone) = state.child.take() {
                let _ = gone.wait();
            }
            self.start_if_needed(state);
        }
    }

    /// Starts the guardian if it does not run, and sends all current groups.
    fn start_if_needed(&self, state: &mut State) {
        if state.child.is_some() || state.starts >= MAX_STARTS {
            return;
        }
        let Some([program, args @ ..]) = self.command.as_deref() else { return };
        state.starts += 1;
        let mut command = Command::new(program);
        command.args(args).arg(&self.owner).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        state.child = command.spawn().ok();
        let mut all = String::new();
        for group in &state.groups {
            all.push_str(&format!("+{group}\n"));
        }
        let _ = write(state, &all);
    }
}

fn write(state: &mut State, text: &str) -> io::Result<()> {
    use std::io::Write;
    match state.child.as_mut().and_then(|child| child.stdin.as_mut()) {
        Some(pipe) => pipe.write_all(text.as_bytes()),
        None => Ok(()),
    }
}

impl Drop for Guardian {
    /// Closes the pipe; the guardian exits because no group is left.
    fn drop(&mut self) {
        if let Some(mut child) = lock(&self.state).child.take() {
            drop(child.stdin.take());
            let _ = std::thread::Builder::new().name("guardian".to_owned()).spawn(move || {
                let _ = child.wait();
            });
        }
    }
}
