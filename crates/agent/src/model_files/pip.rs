//! Downloads Python packages by pip, from the index that the person configured.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use std::{io, thread};

use rustix::process::{Pid, Signal, kill_process_group};
use task_loop::untrusted::printable;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::{Instant, interval, timeout};
use walkdir::WalkDir;

use super::staging::of_ending;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};

const PYTHON: &str = "python3";
const TICK: Duration = Duration::from_millis(200);
/// Timeout without new bytes or output.
const MAX_SILENCE: Duration = Duration::from_mins(5);
/// Timeout for the last output.
const MAX_LAST_WORDS: Duration = Duration::from_secs(1);
/// Timeout of the exit after a kill.
const MAX_ENDING: Duration = Duration::from_secs(2);
const MAX_SAID_BYTES: usize = 64 * 1024;
/// Maximum number of files examined for the progress.
const MAX_LOOKED_AT: usize = 1000;
const MAX_TOLD_LINES: usize = 3;

/// Downloads the wheel of a package into a folder and returns its path. `watch` gets the size
/// so far. Dropping this kills pip.
pub(super) async fn download(
    requirement: &str,
    into: &Path,
    watch: &dyn Fn(u64),
) -> Result<PathBuf> {
    let folder = into.join("wheels");
    let mut running = Running::start(requirement, into, &folder)?;
    let (status, said) = running.until_end(into, watch).await?;
    if !status.success() {
        return Err(refusal(requirement, status, &said));
    }
    match of_ending(&folder, "whl").as_slice() {
        [wheel] => Ok(wheel.clone()),
        wheels => Err(Diagnostic::failed(format!(
            "pip succeeded but left {} packages instead of one",
            wheels.len()
        ))),
    }
}

/// A separate process group, killed on drop.
struct Running {
    child: Child,
    stderr: Option<ChildStderr>,
}

impl Running {
    fn start(requirement: &str, into: &Path, folder: &Path) -> Result<Self> {
        // Python imports modules from the current folder and `PYTHONPATH` before its own, so that
        // a `pip.py` in a cloned repository would run. `-I` and an empty folder rule out both.
        let empty = into.join("empty");
        std::fs::create_dir(&empty).or_cannot("create", &empty)?;
        let mut command = Command::new(PYTHON);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PYTHON") {
                command.env_remove(name);
            }
        }
        let started = command
            .args(["-I", "-B", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"])
            .args(["--no-cache-dir", "--disable-pip-version-check", "--no-input"])
            .args(["--progress-bar", "off", requirement, "-d"])
            .arg(folder)
            // Temporary files grow where they are measured and removed.
            .env("TMPDIR", into)
            .current_dir(&empty)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = started.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Diagnostic::failed(format!("`{PYTHON}` not found"))
                .hint("install Python 3 with pip, on Debian with `apt install python3-pip`")
                .hint(OTHERWISE),
            _ => Diagnostic::failed(format!("cannot start `{PYTHON}`")).because(&error),
        })?;
        let stderr = child.stderr.take();
        Ok(Self { child, stderr })
    }

    /// Waits for the exit; returns the error output.
    async fn until_end(
        &mut self,
        into: &Path,
        watch: &dyn Fn(u64),
    ) -> Result<(ExitStatus, String)> {
        let mut said = Vec::new();
        let (mut ticks, mut size, mut heard) = (interval(TICK), 0, Instant::now());
        let mut stderr = self.stderr.take();
        let status = loop {
            tokio::select! {
                status = self.child.wait() => break status,
                more = read_piece(&mut stderr, &mut said), if stderr.is_some() => {
                    heard = Instant::now();
                    if !more {
                        stderr = None;
                    }
                }
                _ = ticks.tick() => {
                    let now = largest(into);
                    watch(now);
                    if now != size {
                        (size, heard) = (now, Instant::now());
                    }
                    if heard.elapsed() > MAX_SILENCE {
                        let minutes = MAX_SILENCE.as_secs() / 60;
                        return Err(Diagnostic::peer(format!(
                            "pip made no progress for {minutes} minutes"
                        ))
                        .hint(OTHERWISE));
                    }
                }
            }
        };
        let rest = async { while read_piece(&mut stderr, &mut said).await {} };
        let _ = timeout(MAX_LAST_WORDS, rest).await;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok((status.or_failed("cannot wait for pip")?, said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The id exists only until the process is collected, so it cannot be reused.
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let Some(leader) = id else { return };
        let _ = kill_process_group(leader, Signal::KILL);
        let deadline = std::time::Instant::now() + MAX_ENDING;
        while matches!(self.child.try_wait(), Ok(None)) && std::time::Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reads a piece of the error output, of which only the end is kept; false at the end.
async fn read_piece(from: &mut Option<ChildStderr>, bytes: &mut Vec<u8>) -> bool {
    let Some(from) = from else { return false };
    let mut piece = [0; 4096];
    let Ok(count @ 1..) = from.read(&mut piece).await else { return false };
    bytes.extend_from_slice(&piece[..count]);
    if bytes.len() > MAX_SAID_BYTES {
        bytes.drain(..bytes.len() - MAX_SAID_BYTES / 2);
    }
    true
}

fn largest(folder: &Path) -> u64 {
    let files = WalkDir::new(folder).max_depth(4).into_iter().flatten().take(MAX_LOOKED_AT);
    let sizes = files.filter_map(|file| file.metadata().ok()).filter(std::fs::Metadata::is_file);
    sizes.map(|file| file.len()).max().unwrap_or(0)
}

/// The alternative to pip.
pub(super) const OTHERWISE: &str = "add a GGUF file from elsewhere with `agent models add PATH`";

/// Why pip failed, for a person.
fn refusal(requirement: &str, status: ExitStatus, said: &str) -> Diagnostic {
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let diagnostic = if has(&["No module named pip", "No module named 'pip'"]) {
        Diagnostic::failed(format!("`{PYTHON}` has no pip")).hint(format!(
            "install it with `{PYTHON} -m ensurepip`, or on Debian with `apt install python3-pip`"
        ))
    } else if has(&["No space left on device", "Disk quota exceeded"]) {
        Diagnostic::failed("the disk is full").hint("free up disk space and try again")
    } else if has(NO_NETWORK) {
        Diagnostic::peer("cannot reach the package index")
            .hint("check the network and the output of `pip config list`")
    } else if has(&["No matching distribution found"]) {
        Diagnostic::peer(format!("the package index has no `{requirement}`"))
            .hint("check the network, and the index in `pip config list`")
    } else {
        let how =
            status.code().map_or("was killed".to_owned(), |code| format!("exited with {code}"));
        Diagnostic::peer(format!("pip {how} while downloading `{requirement}`"))
    };
    diagnostic.causes(summary(said)).hint(OTHERWISE)
}

const NO_NETWORK: &[&str] = &[
    "Failed to establish a new connection",
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "Connection refused",
    "Connection reset",
    "Read timed out",
    "ProxyError",
    "SSLError",
    "Max retries exceeded",
];

/// The last errors of the output, else its last lines.
fn summary(said: &str) -> Vec<String> {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors: Vec<&str> = lines().filter(|line| line.starts_with("ERROR:")).collect();
    let lines = if errors.is_empty() { lines().collect() } else { errors };
    let last = lines.iter().rev().take(MAX_TOLD_LINES).rev();
    last.map(|line| printable(line.trim_start_matches("ERROR:").trim())).collect()
}

#[cfg(test)]
mod tests;
