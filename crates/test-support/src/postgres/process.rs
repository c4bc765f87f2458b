//! The server process, and the watcher that cleans up after a killed test.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::data::{DATA, Programs};
use super::{MAX_CONNECTIONS, StopMode};
use crate::process_tree;
use crate::wait::{DEADLINE, eventually, holds_within};

/// The first release that can sync a whole file system at once.
const SYNCFS_SINCE: u32 = 14;

/// Waits for the end of its input, which is the end of the test. Then stops the server, or kills it
/// if it does not exit (which its lock file shows), and removes the folder.
const WATCH: &str = r#"
cat >/dev/null
lock="$1/data/postmaster.pid"
pid=$(head -n 1 "$lock")
if [ -n "$pid" ]; then
    kill -QUIT "$pid"
    tries=0
    while [ -e "$lock" ] && [ $tries -lt 200 ]; do tries=$((tries + 1)); sleep 0.05; done
    [ -e "$lock" ] && kill -KILL "$pid"
fi
rm -rf "$1"
"#;

#[derive(Debug)]
pub(super) struct Server {
    child: Child,
}

impl Server {
    /// Starts it and waits until it accepts connections.
    pub(super) fn start(programs: &Programs, folder: &Path) -> Self {
        let log = folder.join("log");
        let output = File::options().create(true).append(true).open(&log).expect("a log file");
        let errors = output.try_clone().expect("a log file");
        let mut command = programs.command("postgres");
        command.arg("-D").arg(folder.join(DATA));
        for setting in settings(programs, folder) {
            command.args(["-c", &setting]);
        }
        command.process_group(0).stdin(Stdio::null()).stdout(output).stderr(errors);
        let mut child = command.spawn().expect("the server starts");
        let status = folder.join(DATA).join("postmaster.pid");
        eventually("PostgreSQL takes connections", || {
            let ended = child.try_wait().expect("the server is a child of ours");
            let said = || fs::read_to_string(&log).unwrap_or_default();
            assert!(ended.is_none(), "PostgreSQL ended: {}", said());
            is_ready(&status, child.id())
        });
        Self { child }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn stop(mut self, mode: StopMode) {
        self.signal(match mode {
            StopMode::Fast => "-INT",
            StopMode::Immediate => "-QUIT",
        });
        assert!(self.ends_in_time(), "PostgreSQL did not end");
    }

    pub(super) fn kill(mut self) {
        self.signal("-QUIT");
        if !self.ends_in_time() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Kills the postmaster, then its children, which run a moment longer and would keep the next
    /// server from starting.
    pub(super) fn kill_all(mut self) {
        let children = process_tree::children(self.child.id());
        let _ = self.child.kill();
        children.iter().copied().for_each(process_tree::kill);
        let _ = self.child.wait();
        eventually("all processes of PostgreSQL end", || {
            !children.iter().any(|child| process_tree::is_running(*child))
        });
    }

    pub(super) fn has_exited(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn signal(&self, signal: &str) {
        // It may have exited.
        let _ = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
    }

    fn ends_in_time(&mut self) -> bool {
        holds_within(DEADLINE, || self.has_exited())
    }
}

/// Small where that costs nothing, and durable, because the tests check durability.
fn settings(programs: &Programs, folder: &Path) -> Vec<String> {
    let mut settings = vec![
        "listen_addresses=".to_owned(),
        format!("unix_socket_directories={}", folder.display()),
        "unix_socket_permissions=0700".to_owned(),
        format!("max_connections={MAX_CONNECTIONS}"),
        "fsync=on".to_owned(),
        "synchronous_commit=on".to_owned(),
        "full_page_writes=on".to_owned(),
        "shared_buffers=64MB".to_owned(),
        "huge_pages=off".to_owned(),
        "max_wal_size=512MB".to_owned(),
    ];
    if programs.release() >= SYNCFS_SINCE {
        // One call instead of one for each of a thousand files: recovery takes 0.2 s, not 3 s.
        settings.push("recovery_init_sync_method=syncfs".to_owned());
    }
    settings
}

/// The eighth line of the lock file is the server's status.
fn is_ready(status: &Path, id: u32) -> bool {
    let said = fs::read_to_string(status).unwrap_or_default();
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    lines.first() == Some(&id.to_string().as_str())
        && matches!(lines.get(7), Some(&("ready" | "standby")))
}

#[derive(Debug)]
pub(super) struct Watcher {
    child: Child,
    input: Option<ChildStdin>,
}

impl Watcher {
    pub(super) fn start(folder: &Path) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", WATCH, "sh"])
            .arg(folder)
            // A signal to the process group of the test must not reach the watcher.
            .process_group(0)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let input = child.stdin.take();
        Self { child, input }
    }

    pub(super) fn finish(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
