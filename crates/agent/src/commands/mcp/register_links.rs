//! `agent mcp register-links`: registers this program for install links.

mod desktop;
mod macos;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::json;
use task_loop::untrusted::printable;
use tokio::process::Command;
use tokio::time::timeout;

use self::desktop::{FILE_NAME, MIME_TYPE, without_ours};
use crate::config::remove_file;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::output::GOOD;
use crate::runtime;
use crate::session::Session;

/// Timeout of the desktop's own tools.
const MAX_WAIT: Duration = Duration::from_secs(10);
const MAX_ANSWER_BYTES: u64 = 4096;

/// Open install links of web pages with this program
#[derive(Debug, clap::Args)]
#[command(after_help = "\
On Linux, writes a desktop file for the current user; on macOS, an application. Opened links are \
shown in the dashboard, without a graphical session in a terminal, and need your confirmation.

Examples:
  agent mcp register-links
  agent mcp register-links --remove")]
pub(crate) struct Args {
    /// Remove the link handler
    #[arg(long)]
    remove: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let program = std::env::current_exe().or_failed("cannot find this program")?;
    let program = program.to_str().filter(|path| !path.chars().any(char::is_control));
    let program = program.ok_or_else(|| {
        Diagnostic::failed("the path of this program cannot be written to a desktop file")
            .hint("install it in a folder with a simple name")
    })?;
    if let Some(steps) = desktop::steps(std::env::consts::OS, program, args.remove) {
        return session.output.document(&json!({ "steps": steps }), &steps);
    }
    if std::env::consts::OS == "macos" {
        let app = macos::bundle_path(session)?;
        if args.remove {
            return macos::remove(session, &app);
        }
        let script = macos::script(program, home(session)?.as_deref(), session.profile());
        return macos::register(session, &app, &script);
    }
    let folder = applications(session)?;
    let path = folder.join(FILE_NAME);
    if args.remove {
        return remove(session, &folder, &path);
    }
    let variables = &session.environment.all;
    let is_graphical =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| variables.contains_key(*name));
    let file = desktop::file(program, home(session)?.as_deref(), session.profile(), is_graphical);
    register(session, &path, &file)
}

/// `AGENT_HOME`, if set: a link is installed into the profile of the current user.
fn home(session: &Session) -> Result<Option<String>> {
    let Some(home) = &session.environment.agent_home else { return Ok(None) };
    let home = std::path::absolute(home).unwrap_or_else(|_| home.clone());
    match home.to_str() {
        Some(home) if !home.chars().any(char::is_control) => Ok(Some(home.to_owned())),
        _ => Err(Diagnostic::failed("AGENT_HOME cannot be written to a desktop file")
            .hint("choose a folder with a simple name")),
    }
}

/// A folder of the XDG specification: the variable, or its default below the home folder.
fn xdg_folder(variable: &str, default: &str, session: &Session) -> Option<PathBuf> {
    let folder = session.environment.all.get(variable).map(PathBuf::from);
    let folder = folder.filter(|path| path.is_absolute());
    folder.or_else(|| session.environment.home.as_ref().map(|home| home.join(default)))
}

/// Removes us from the default applications. Unreadable or unwritable files are kept and
/// reported.
fn forget_choice(session: &Session, applications: &Path) -> Vec<PathBuf> {
    // The current file of default applications, and the deprecated one.
    let folders = xdg_folder("XDG_CONFIG_HOME", ".config", session);
    let folders = folders.into_iter().chain([applications.to_owned()]);
    let mut changed = Vec::new();
    for path in folders.map(|folder| folder.join("mimeapps.list")) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(rest) = without_ours(&text) else { continue };
        match write(&path, &rest) {
            Ok(()) => changed.push(path),
            Err(error) => {
                session.output.warn(format!("cannot change {}: {error}", path.display()));
            }
        }
    }
    changed
}

fn applications(session: &Session) -> Result<PathBuf> {
    let data = xdg_folder("XDG_DATA_HOME", ".local/share", session).ok_or_else(|| {
        Diagnostic::configuration("no home folder found").hint("set HOME or XDG_DATA_HOME")
    })?;
    Ok(data.join("applications"))
}

fn register(session: &Session, path: &Path, file: &str) -> Result {
    let before = answer("xdg-mime", &["query", "default", MIME_TYPE]);
    let before = before.filter(|name| name != FILE_NAME);
    write(path, file).or_cannot("write", path)?;
    let made_default = tool("xdg-mime", &["default", FILE_NAME, MIME_TYPE]);
    let updated = update(path);
    if session.output.is_json() {
        return session.output.json(&json!({
            "registered": path,
            "replaced": before,
            "xdg_mime": made_default,
            "update_desktop_database": updated,
        }));
    }
    let path = path.display();
    session.output.text(format!("{GOOD}Registered{GOOD:#} for agent:// links: {path}\n"))?;
    match made_default {
        Outcome::Done => {
            if let Some(before) = before {
                let before = printable(&before);
                session.output.note(format!("These links were opened by {before} before."));
            }
        }
        Outcome::Absent => session.output.note(
            "`xdg-mime` is not installed: your desktop may ask which program opens these links.",
        ),
        Outcome::Failed => session.output.note(format!(
            "`xdg-mime` failed: make {FILE_NAME} the default for {MIME_TYPE} in your desktop's \
             settings."
        )),
    }
    report_update(session, updated);
    Ok(())
}

fn remove(session: &Session, folder: &Path, path: &Path) -> Result {
    let was_there = remove_file(path)?;
    let changed = forget_choice(session, folder);
    let updated = if was_there { update(path) } else { Outcome::Done };
    if session.output.is_json() {
        let removed = was_there.then_some(path);
        return session.output.json(&json!({ "removed": removed, "changed": changed }));
    }
    session.output.text(if was_there {
        format!("{GOOD}Removed{GOOD:#} {}\n", path.display())
    } else {
        format!("Nothing is registered in {}.\n", folder.display())
    })?;
    for path in changed {
        session.output.note(format!("It is no longer the default in {}.", path.display()));
    }
    report_update(session, updated);
    Ok(())
}

/// Replaces the file atomically, so that no desktop reads a part of it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new();
    file.permissions(fs::Permissions::from_mode(0o644)).prefix(".agent-").suffix(".tmp");
    let file = file.tempfile_in(folder)?;
    fs::write(file.path(), text)?;
    file.persist(path)?;
    Ok(())
}

fn report_update(session: &Session, outcome: Outcome) {
    let what = match outcome {
        Outcome::Done => return,
        Outcome::Absent => "is not installed",
        Outcome::Failed => "failed",
    };
    session.output.note(format!(
        "`update-desktop-database` {what}: your desktop may not see the change until the next \
         login."
    ));
}

/// Makes the desktop notice the changes beside this file.
fn update(path: &Path) -> Outcome {
    match path.parent().and_then(Path::to_str) {
        Some(folder) => tool("update-desktop-database", &[folder]),
        None => Outcome::Failed,
    }
}

/// The result of one of the desktop's own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Done,
    Failed,
    Absent,
}

fn tool(name: &str, arguments: &[&str]) -> Outcome {
    match run_tool(name, arguments, Stdio::null()) {
        Ok(status) if status.success() => Outcome::Done,
        Err(error) if error.kind() == ErrorKind::NotFound => Outcome::Absent,
        _ => Outcome::Failed,
    }
}

/// The first line of a tool's output; `None` if it fails.
fn answer(name: &str, arguments: &[&str]) -> Option<String> {
    // Reading a file, unlike a pipe, never blocks.
    let mut file: File = tempfile::tempfile().ok()?;
    let status = run_tool(name, arguments, file.try_clone().ok()?.into()).ok()?;
    file.rewind().ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().trim();
    (status.success() && !line.is_empty()).then(|| line.to_owned())
}

fn run_tool(name: &str, arguments: &[&str], stdout: Stdio) -> io::Result<ExitStatus> {
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
    let ended = runtime::run(async {
        Ok(timeout(MAX_WAIT, command.kill_on_drop(true).status()).await.map_err(io::Error::from))
    });
    ended.map_err(|diagnostic| io::Error::other(diagnostic.line()))??
}

#[cfg(test)]
mod tests;
