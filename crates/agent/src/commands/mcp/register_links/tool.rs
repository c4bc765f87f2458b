//! Runs the desktop's own tools.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const MAX_WAIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
const MAX_ANSWER_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Done,
    Failed,
    Absent,
}

pub(super) fn tool(name: &str, arguments: &[&str]) -> Outcome {
    match run_tool(name, arguments, Stdio::null()) {
        Ok(Some(status)) if status.success() => Outcome::Done,
        Err(error) if error.kind() == ErrorKind::NotFound => Outcome::Absent,
        _ => Outcome::Failed,
    }
}

/// The first line of a tool's output; `None` if it fails.
pub(super) fn answer(name: &str, arguments: &[&str]) -> Option<String> {
    // Reading a file, unlike a pipe, never blocks.
    let mut file: File = tempfile::tempfile().ok()?;
    let status = run_tool(name, arguments, file.try_clone().ok()?.into()).ok()??;
    file.rewind().ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().trim();
    (status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// The exit status; `None` if the tool was killed after a timeout.
fn run_tool(name: &str, arguments: &[&str], stdout: Stdio) -> io::Result<Option<ExitStatus>> {
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let began = Instant::now();
    while began.elapsed() < MAX_WAIT {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(LOOK);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests;
