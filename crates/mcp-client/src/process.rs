//! Termination of a server's processes, including grandchildren.
//!
//! A server leads a process group, and its descendants inherit a marker variable. Termination
//! signals the group and, on Linux, every process with the marker that left the group.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

/// Marks the processes of a server: `<owner>.<number>`.
pub(crate) const OWNER_VARIABLE: &str = "AGENT_MCP_OWNER";

/// Time for processes to exit after SIGTERM.
pub(crate) const TERM_GRACE: Duration = Duration::from_secs(2);
/// Time for processes to disappear after SIGKILL.
const KILL_GRACE: Duration = Duration::from_millis(500);
const TERMINATION_STEPS: [(Signal, Duration); 2] =
    [(Signal::TERM, TERM_GRACE), (Signal::KILL, KILL_GRACE)];
const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug, Clone)]
pub(crate) struct ProcessGroup {
    leader: Pid,
    marker: String,
}

impl ProcessGroup {
    pub(crate) fn led_by(id: u32, marker: String) -> Option<Self> {
        let leader = i32::try_from(id).ok().and_then(Pid::from_raw)?;
        Some(Self { leader, marker })
    }

    pub(crate) fn id(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    pub(crate) fn kill(&self) {
        signal(&[self.leader], &marked_processes(&self.marker), Signal::KILL);
    }

    pub(crate) async fn terminate(&self) {
        for (word, grace) in TERMINATION_STEPS {
            let strays = marked_processes(&self.marker);
            if !any_alive(&[self.leader], &strays) {
                return;
            }
            signal(&[self.leader], &strays, word);
            let deadline = Instant::now() + grace;
            while any_alive(&[self.leader], &strays) && Instant::now() < deadline {
                sleep(POLL_INTERVAL).await;
            }
        }
    }
}

/// As [`ProcessGroup::terminate`], for several groups and every marker that begins with `owner`,
/// blocking this thread.
pub(crate) fn terminate_blocking(groups: &[i32], owner: &str) {
    let leaders: Vec<Pid> = groups.iter().copied().filter_map(Pid::from_raw).collect();
    for (word, grace) in TERMINATION_STEPS {
        let strays = marked_processes(owner);
        if !any_alive(&leaders, &strays) {
            return;
        }
        signal(&leaders, &strays, word);
        let deadline = std::time::Instant::now() + grace;
        while any_alive(&leaders, &strays) && std::time::Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

fn signal(leaders: &[Pid], strays: &[Pid], signal: Signal) {
    for leader in leaders {
        let _ = kill_process_group(*leader, signal);
    }
    for stray in strays {
        let _ = kill_process(*stray, signal);
    }
}

/// Whether a process of the groups or a stray is alive. Most servers have exited by now, so the
/// cheap check comes first.
fn any_alive(leaders: &[Pid], strays: &[Pid]) -> bool {
    let of_group =
        |leader: &Pid| test_kill_process_group(*leader).is_ok() && has_live_member(*leader);
    leaders.iter().any(of_group) || strays.iter().any(|stray| is_alive(*stray))
}

/// Whether the group has a member that is not a zombie.
#[cfg(target_os = "linux")]
fn has_live_member(leader: Pid) -> bool {
    let group = leader.as_raw_nonzero().get();
    linux::processes().any(|process| process.group == group && process.lives)
}

#[cfg(not(target_os = "linux"))]
fn has_live_member(_: Pid) -> bool {
    true
}

#[cfg(target_os = "linux")]
fn is_alive(process: Pid) -> bool {
    linux::process(process.as_raw_nonzero().get()).is_some_and(|process| process.lives)
}

#[cfg(not(target_os = "linux"))]
fn is_alive(process: Pid) -> bool {
    rustix::process::test_kill_process(process).is_ok()
}

/// Live processes whose marker begins with `marker`.
#[cfg(target_os = "linux")]
pub(crate) fn marked_processes(marker: &str) -> Vec<Pid> {
    let wanted = format!("{OWNER_VARIABLE}={marker}");
    linux::processes()
        .filter(|process| process.lives && linux::carries(process.id, wanted.as_bytes()))
        .filter_map(|process| Pid::from_raw(process.id))
        .collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn marked_processes(_: &str) -> Vec<Pid> {
    Vec::new()
}

#[cfg(target_os = "linux")]
mod linux {
    //! Access to `/proc`.

    use std::fs;

    pub(super) struct Process {
        pub(super) id: i32,
        pub(super) group: i32,
        pub(super) lives: bool,
    }

    pub(super) fn processes() -> impl Iterator<Item = Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?))
    }

    pub(super) fn process(id: i32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The command in parentheses may contain parentheses.
        let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        Some(Process { id, group, lives: !matches!(state, "Z" | "X") })
    }

    pub(super) fn carries(id: i32, wanted: &[u8]) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{id}/environ")) else { return false };
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(wanted))
    }
}
