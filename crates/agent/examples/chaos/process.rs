//! Child processes that can be killed, frozen and restarted.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};

/// The first argument with which this program serves as the upstream.
const UPSTREAM: &str = "serve-upstream";

/// A child process that is killed when dropped.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        Self { child }
    }

    /// Starts this program again as a scripted model server on the port.
    pub(crate) fn upstream(address: SocketAddr) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let process = Self::spawn(command.args([UPSTREAM, &address.port().to_string()]));
        wait_for_port(address);
        process
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_exited(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Resident memory in MiB.
    pub(crate) fn memory_mib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or_default() / 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal; a process that has exited is ignored.
pub(crate) fn send_signal(id: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// The ids of the processes that this one started.
pub(crate) fn children(id: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let read = |folder: &Path| fs::read_to_string(folder.join("children")).unwrap_or_default();
    let lists: Vec<String> = tasks.map(|task| read(&task.path())).collect();
    lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

pub(crate) fn wait_for_port(address: SocketAddr) {
    eventually("the port accepts connections", || std::net::TcpStream::connect(address).is_ok());
}

/// Serves as the upstream if this process was started for that; returns only on a bad port.
pub(crate) fn run_as_upstream() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(UPSTREAM) {
        return None;
    }
    let port = arguments.next()?.parse().ok()?;
    let upstream = Upstream::start_on(port);
    upstream.want_no_key();
    loop {
        std::thread::park();
    }
}
