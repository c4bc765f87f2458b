//! The tools of a desktop: run for a while at most, and judged by how they end.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a tool may take.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// How often it is looked whether a tool has ended.
const LOOK: Duration = Duration::from_millis(20);
const MAX_ANSWER_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Failed,
    Absent,
}

impl Outcome {
    pub(super) fn word(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::Absent => "absent",
        }
    }
}

pub(super) fn tool(name: &str, arguments: &[&str]) -> Outcome {
    match run(name, arguments, Stdio::null()) {
        Ok(Some(status)) if status.success() => Outcome::Done,
        Err(error) if error.kind() == ErrorKind::NotFound => Outcome::Absent,
        _ => Outcome::Failed,
    }
}

/// What a tool answers in its first line; nothing if it fails.
pub(super) fn answer(name: &str, arguments: &[&str]) -> Option<String> {
    // A file, unlike a pipe, keeps nobody waiting.
    let mut file: File = tempfile::tempfile().ok()?;
    let status = run(name, arguments, file.try_clone().ok()?.into()).ok()??;
    file.rewind().ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().trim();
    (status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// Lets the desktop see what has changed beside this file.
pub(super) fn update(path: &Path) -> Outcome {
    match path.parent().and_then(Path::to_str) {
        Some(folder) => tool("update-desktop-database", &[folder]),
        None => Outcome::Failed,
    }
}

/// How it ended; nothing if it took too long and was ended.
fn run(name: &str, arguments: &[&str], stdout: Stdio) -> io::Result<Option<ExitStatus>> {
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
