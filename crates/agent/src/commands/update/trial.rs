//! A program is run before it takes the place of this one.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use task_loop::untrusted::printable;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::version::Version;
use crate::diagnostic::Diagnostic;

/// How long a program may take to say its version.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// How much it may say.
const MAX_BYTES: u64 = 4096;

/// An error unless the program runs and is of this version.
pub(super) async fn check(path: &Path, expected: &Version) -> Result<(), Diagnostic> {
    let found = version(path).await?;
    if found == *expected {
        return Ok(());
    }
    let message = format!("the program reports version {found}, but {expected} was published");
    Err(Diagnostic::peer(message).hint("nothing was changed; report this to the publisher"))
}

pub(super) async fn version(path: &Path) -> Result<Version, Diagnostic> {
    let said = tokio::time::timeout(MAX_WAIT, said(path)).await;
    let what = match said {
        Ok(Ok(text)) => match of_line(text.lines().next().unwrap_or_default()) {
            Some(version) => return Ok(version),
            None => format!("`--version` printed `{}`", printable(text.trim())),
        },
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("`--version` took longer than {} s", MAX_WAIT.as_secs()),
    };
    let mut diagnostic = Diagnostic::failed(format!("{} does not run here", path.display()));
    diagnostic.causes.push(what);
    Err(diagnostic.hint("nothing was changed; report this to the publisher"))
}

/// The version in a line such as `agent 1.2.3`.
fn of_line(line: &str) -> Option<Version> {
    line.split_whitespace().last().and_then(Version::parse)
}

async fn said(path: &Path) -> std::io::Result<String> {
    let mut child = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut text = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(MAX_BYTES).read_to_end(&mut text).await?;
    }
    let status = child.wait().await?;
    if !status.success() {
        return Err(std::io::Error::other(format!("`--version` exited with {status}")));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
