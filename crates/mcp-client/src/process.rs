//! A server's processes, down to the last grandchild.
//!
//! A server leads a process group of its own, and all that it starts inherits a marker in its
//! environment. Ending a server means both: the group is signalled, and on Linux whoever left the
//! group but still carries the marker is found and ended too.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

/// The variable that marks what belongs to a server: `<owner>.<number>`.
pub(crate) const MARKER: &str = "AGENT_MCP_OWNER";

/// How long processes have to end by themselves once asked.
pub(crate) const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long the rest of a group may outlive its killing before it is given up.
const KILL_GRACE: Duration = Duration::from_millis(500);
/// First they are asked, then they are ended.
const ENDING: [(Signal, Duration); 2] = [(Signal::TERM, TERM_GRACE), (Signal::KILL, KILL_GRACE)];
/// How often it is looked whether they have ended.
const POLL: Duration = Duration::from_millis(10);

/// The processes of one server.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    leader: Pid,
    marker: String,
}

impl Group {
    /// The group that the process with this id leads.
    pub(crate) fn led_by(id: u32, marker: String) -> Option<Self> {
        let leader = i32::try_from(id).ok().and_then(Pid::from_raw)?;
        Some(Self { leader, marker })
    }

    pub(crate) fn id(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// Ends everything at once, without asking.
    pub(crate) fn kill(&self) {
        signal(&[self.leader], &marked(&self.marker), Signal::KILL);
    }

    /// Asks all to end, and ends those that do not.
    pub(crate) async fn end(&self) {
        for (word, grace) in ENDING {
            let strays = marked(&self.marker);
            if !live(&[self.leader], &strays) {
                return;
            }
            signal(&[self.leader], &strays, word);
            let deadline = Instant::now() + grace;
            while live(&[self.leader], &strays) && Instant::now() < deadline {
                sleep(POLL).await;
            }
        }
    }
}

/// Ends the groups and everything whose marker begins with `owner`, as [`Group::end`] does, but
/// waiting in this thread.
pub(crate) fn end_blocking(groups: &[i32], owner: &str) {
    let leaders: Vec<Pid> = groups.iter().copied().filter_map(Pid::from_raw).collect();
    for (word, grace) in ENDING {
        let strays = marked(owner);
        if !live(&leaders, &strays) {
            return;
        }
        signal(&leaders, &strays, word);
        let deadline = std::time::Instant::now() + grace;
        while live(&leaders, &strays) && std::time::Instant::now() < deadline {
            std::thread::sleep(POLL);
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

/// Whether somebody of these groups, or one of the strays, has not ended. Most servers have by now,
/// so the cheap question comes first.
fn live(leaders: &[Pid], strays: &[Pid]) -> bool {
    let of_group =
        |leader: &Pid| test_kill_process_group(*leader).is_ok() && has_living_member(*leader);
    leaders.iter().any(of_group) || strays.iter().any(|stray| is_living(*stray))
}

/// Whether some member of the group is more than a zombie that nobody has collected.
#[cfg(target_os = "linux")]
fn has_living_member(leader: Pid) -> bool {
    let group = leader.as_raw_nonzero().get();
    linux::processes().any(|process| process.group == group && process.lives)
}

#[cfg(not(target_os = "linux"))]
fn has_living_member(_: Pid) -> bool {
    true
}

#[cfg(target_os = "linux")]
fn is_living(process: Pid) -> bool {
    linux::process(process.as_raw_nonzero().get()).is_some_and(|process| process.lives)
}

#[cfg(not(target_os = "linux"))]
fn is_living(process: Pid) -> bool {
    rustix::process::test_kill_process(process).is_ok()
}

/// Living processes whose marker begins with `marker`.
#[cfg(target_os = "linux")]
pub(crate) fn marked(marker: &str) -> Vec<Pid> {
    let wanted = format!("{MARKER}={marker}");
    linux::processes()
        .filter(|process| process.lives && linux::carries(process.id, wanted.as_bytes()))
        .filter_map(|process| Pid::from_raw(process.id))
        .collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn marked(_: &str) -> Vec<Pid> {
    Vec::new()
}

#[cfg(target_os = "linux")]
mod linux {
    //! Reading `/proc`.

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
        // The name in parentheses may hold anything, parentheses too.
        let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        Some(Process { id, group, lives: !matches!(state, "Z" | "X") })
    }

    /// Whether the environment the process was started with has a variable that begins like this.
    pub(super) fn carries(id: i32, wanted: &[u8]) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{id}/environ")) else { return false };
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(wanted))
    }
}
