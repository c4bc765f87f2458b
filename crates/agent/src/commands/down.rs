//! `agent down`: stops the service of `agent up`.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::up::running::{Running, RunningService};
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::output::GOOD;
use crate::runtime::block_on;
use crate::session::Session;

const PAUSE: Duration = Duration::from_millis(20);
const MAX_WAIT_SECONDS: u64 = 86_400;

/// Stop the service started by `agent up`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Running requests finish first. Run the command again to stop immediately. It succeeds if the \
service is not running.

Exit codes: 0 stopped, 1 requests are still finishing.

Examples:
  agent down
  agent down --wait 5
  agent down --profile work")]
pub(crate) struct Args {
    /// Seconds to wait until it has stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(0..=MAX_WAIT_SECONDS))]
    wait: u64,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let Some(held) = RunningService::find(session)? else {
        let json = json!({ "stopped": false, "pid": null, "address": null });
        let note = "The service of this profile is not running.";
        return session.output.print_or_note(&json, note);
    };
    let running = held.running().ok_or_else(|| {
        Diagnostic::failed("the service is running, but its process id is unknown")
    })?;
    ask_to_stop(&held, &running)?;
    let wait = Duration::from_secs(args.wait);
    if !block_on(has_ended(&held, wait))? {
        return Err(Diagnostic::failed(format!("{} is still finishing requests", shown(&running)))
            .hint("run `agent down` again to stop it immediately"));
    }
    session.output.print(
        &json!({ "stopped": true, "pid": running.pid, "address": running.address }),
        format!("{GOOD}Stopped{GOOD:#} {}.\n", shown(&running)),
    )
}

fn shown(running: &Running) -> String {
    match &running.address {
        Some(address) => format!("the service at http://{address} (process {})", running.pid),
        None => format!("the service (process {})", running.pid),
    }
}

async fn has_ended(held: &RunningService, wait: Duration) -> Result<bool> {
    let deadline = Instant::now() + wait;
    loop {
        if !held.is_held()? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(PAUSE).await;
    }
}

/// Sends the signal to the process that holds the file, never to another one with a reused id.
fn ask_to_stop(held: &RunningService, running: &Running) -> Result {
    let number = running.pid;
    let cannot = format!("cannot stop process {number}");
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
    match send(pid.ok_or(Errno::SRCH).or_failed(&cannot)?, held) {
        // It has exited by itself.
        Err(Errno::SRCH) if !held.is_held()? => Ok(()),
        Err(Errno::SRCH) => Err(Diagnostic::failed(format!(
            "process {number} is not the service, which runs on another machine or in a container"
        ))
        .hint("stop the service there")),
        done => done.or_failed(cannot),
    }
}

#[cfg(target_os = "linux")]
fn send(pid: Pid, held: &RunningService) -> rustix::io::Result<()> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    // The check below concerns the process opened here, or that process no longer holds the file.
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    if has_open(pid, held) { pidfd_send_signal(process, Signal::TERM) } else { Err(Errno::SRCH) }
}

#[cfg(target_os = "linux")]
fn has_open(pid: Pid, held: &RunningService) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(wanted) = held.file.metadata() else { return false };
    let folder = format!("/proc/{}/fd", pid.as_raw_nonzero());
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = files.filter_map(|file| std::fs::metadata(file.path()).ok());
    found.any(|file| (file.dev(), file.ino()) == (wanted.dev(), wanted.ino()))
}

#[cfg(not(target_os = "linux"))]
fn send(pid: Pid, _: &RunningService) -> rustix::io::Result<()> {
    rustix::process::kill_process(pid, Signal::TERM)
}
