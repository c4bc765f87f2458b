//! Faults of the process itself: ignored signals and child processes left behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::super::behaviour::Behaviour;
use super::super::server::complain;

/// Set in the environment of the process once it ignores SIGTERM.
const ARMED: &str = "HOSTILE_ARMED";

/// Names the file for the process ids.
const PIDS: &str = "HOSTILE_PIDS";

/// A secret that a client must not repeat.
pub(super) fn secret() -> String {
    std::env::var("HOSTILE_SECRET").unwrap_or_default()
}

/// Replaces the process by the same program with SIGTERM ignored, which a shell sets and it
/// inherits.
pub(super) fn ignore_term(behaviour: Behaviour) {
    if std::env::var_os(ARMED).is_some() {
        return;
    }
    match std::env::current_exe() {
        Ok(program) => {
            let error = Command::new("sh")
                .args(["-c", "trap '' TERM; exec \"$0\" stdio \"$1\""])
                .arg(program)
                .arg(behaviour.name())
                .env(ARMED, "1")
                .exec();
            complain(&format!("cannot become stubborn: {error}"));
        }
        Err(error) => complain(&format!("cannot become stubborn: {error}")),
    }
}

/// Starts a child in our process group and one in a new session; both hold our output for ten
/// minutes. Writes `leader ID`, `child ID` and `session ID` to the file named by `HOSTILE_PIDS`.
pub(super) fn start_children() {
    let child = start(Command::new("sleep").arg("600"));
    let session = start(Command::new("setsid").args(["sleep", "600"]));
    let ids = format!("leader {}\nchild {child}\nsession {session}\n", std::process::id());
    if let Some(path) = std::env::var_os(PIDS)
        && let Err(error) = fs::write(path, ids)
    {
        complain(&format!("cannot write the ids: {error}"));
    }
}

/// They are left behind on purpose.
fn start(command: &mut Command) -> u32 {
    match command.stdin(Stdio::null()).spawn() {
        Ok(child) => child.id(),
        Err(error) => {
            complain(&format!("cannot start a child: {error}"));
            0
        }
    }
}
