//! `agent doctor`: checks the setup, with a fix for each problem.

mod service;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use rustix::fs::{Access, access, statvfs};
use serde_json::{Value, json};
use task_loop::Sanitizer;
use task_loop::untrusted::escaped;

use super::mcp::doctor;
use super::metrics::status;
use super::update::{Channel, ChannelArgs};
use crate::diagnostic::{Diagnostic, Result};
use crate::download::free_bytes;
use crate::finding::{Finding, Findings, Severity};
use crate::session::Session;
use crate::table::{amount, counted};

const LEAST_BYTES: u64 = 64 * 1024 * 1024;
const LITTLE_BYTES: u64 = 1024 * 1024 * 1024;

/// Check your setup and suggest fixes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Checks the home folder, the configuration, the key, the member service, MCP servers, metrics, \
updates, model files, the disk and the clock.

Exit codes: 0 no problem found, 1 problems found.

Examples:
  agent doctor
  agent doctor --offline
  agent doctor --json")]
pub(crate) struct Args {
    /// Skip checks that use the network
    #[arg(long)]
    offline: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let online = (!args.offline).then_some(AT_MOST);
    let mut findings = Findings::default();
    findings.add(home(session)?.of("home"));
    let configuration = configuration(session)?.of("config");
    let is_readable = configuration.severity != Severity::Error;
    findings.add(configuration);
    if is_readable {
        findings.extend(everything(online, session)?);
    }
    #[cfg(feature = "local-model")]
    findings.extend(models(session)?.into_iter().map(|finding| finding.of("models")));
    findings.extend(disk(session)?.map(|finding| finding.of("disk")));
    session.output.print(&json(&findings), text(&findings))?;
    if is_healthy(&findings) { Ok(()) } else { Err(Diagnostic::already_reported()) }
}

/// The checks that need a readable configuration, run concurrently.
fn everything(online: Option<Duration>, session: &Session) -> Result<Vec<Finding>> {
    thread::scope(|scope| {
        let service = scope.spawn(|| service::check(online.is_some(), session));
        let servers = scope.spawn(|| servers(online, session));
        let mut checks = Vec::new();
        let standing = [metrics(session).of("metrics"), updates(session).of("updates")];
        for looked in [service, servers] {
            // A panic in a check is a bug of ours: propagate it.
            let looked = looked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            checks.extend(looked?);
        }
        checks.extend(standing);
        Ok(checks)
    })
}

/// Whether the local models are usable; no finding if there are none.
#[cfg(feature = "local-model")]
fn models(session: &Session) -> Result<Vec<Finding>> {
    use crate::model_files::model_dir::ModelDir;
    use local_model::About;
    use task_loop::untrusted::printable;

    let shelf = ModelDir::find(session)?;
    let names = match shelf.content() {
        Ok(content) => content.names,
        Err(diagnostic) => return Ok(vec![diagnostic.into()]),
    };
    let (mut good, mut bytes, mut checks) = (0, 0, Vec::new());
    for name in &names {
        match About::read(&shelf.path(name)) {
            Ok(about) => (good, bytes) = (good + 1, bytes + about.file_bytes),
            Err(problem) => {
                let why = printable(&problem.to_string());
                let check = Finding::warning(format!("`{name}` cannot be used: {why}"));
                checks.push(check.hint(format!("remove it with `agent models remove {name}`")));
            }
        }
    }
    if good > 0 {
        let (count, size) = (counted(good, "model file"), amount(bytes));
        let what = format!("{count}, {size}, in {}", shelf.folder().display());
        checks.insert(0, Finding::good(what));
    }
    Ok(checks)
}

fn metrics(session: &Session) -> Finding {
    match status::health(session) {
        Ok((line, None)) => Finding::good(line),
        Ok((_, Some(trouble))) | Err(trouble) => trouble.into(),
    }
}

fn updates(session: &Session) -> Finding {
    match Channel::find(session, &ChannelArgs::default()) {
        Ok(Channel { key: Some(key), .. }) => {
            Finding::good(format!("verified with the key {}", key.place))
        }
        Ok(Channel { key: None, .. }) => Finding::good("off: no signing key is configured")
            .hint("set `update.public_key` in config.yaml"),
        Err(diagnostic) => diagnostic.into(),
    }
}

fn home(session: &Session) -> Result<Finding> {
    let config = session.home()?.config();
    let folder = config.parent().unwrap_or(Path::new("/"));
    let shown = folder.display();
    let Ok(found) = fs::metadata(folder) else {
        return Ok(Finding::warning(format!("{shown} does not exist yet"))
            .hint("create it with `agent up`, which also starts a service on this machine"));
    };
    let mode = found.permissions().mode() & 0o777;
    let private = format!("chmod 700 {shown}");
    Ok(if !found.is_dir() {
        Finding::error(format!("{shown} is not a folder")).hint("move or remove it")
    } else if let Err(error) = access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Finding::error(format!("cannot write to {shown}: {error}"))
            .hint("change the owner or the permissions of the folder")
    } else if mode & 0o022 != 0 {
        let what = format!("other users can change files in {shown} (mode {mode:o})");
        Finding::error(what).hint(private)
    } else if mode & 0o077 != 0 {
        Finding::warning(format!("other users can access {shown} (mode {mode:o})")).hint(private)
    } else {
        Finding::good(shown.to_string())
    })
}

fn configuration(session: &Session) -> Result<Finding> {
    let path = session.home()?.config();
    Ok(match session.config()?.root() {
        Ok(_) if path.exists() => Finding::good(path.display().to_string()),
        Ok(_) => Finding::good("no config.yaml; the defaults apply"),
        Err(diagnostic) => Finding::from(diagnostic)
            .hint("checks that depend on it were skipped; fix it and run `agent doctor` again"),
    })
}

/// Free disk space of the home folder, if the system reports it.
fn disk(session: &Session) -> Result<Option<Finding>> {
    let config = session.home()?.config();
    let folder = config.ancestors().skip(1).find(|folder| folder.exists());
    let free = folder.and_then(|folder| free_bytes(&statvfs(folder).ok()?));
    Ok(folder.zip(free).map(|(folder, free)| {
        let what = format!("{} free at {}", amount(free), folder.display());
        match free {
            0..LEAST_BYTES => Finding::error(what).hint("free up disk space"),
            LEAST_BYTES..LITTLE_BYTES => Finding::warning(what).hint("free up disk space soon"),
            _ => Finding::good(what),
        }
    }))
}

const fn label(severity: Severity) -> &'static str {
    match severity {
        Severity::Good | Severity::Advice => "ok",
        Severity::Warning => "warning",
        Severity::Error => "problem",
    }
}

fn is_healthy(findings: &Findings) -> bool {
    findings.count(Severity::Error) == 0
}

fn text(findings: &Findings) -> String {
    let width = findings.all.iter().map(|finding| finding.subject().len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in &findings.all {
        let Finding { severity, what, hints, .. } = finding;
        let (style, word) = (severity.style(), label(*severity));
        let (area, what) = (finding.subject(), line(what));
        text += &format!("{style}{word:<7}{style:#}  {area:<width$}  {what}\n");
        for hint in hints {
            text += &format!("{:width$}hint: {}\n", "", line(hint), width = width + 11);
        }
    }
    let (problems, warnings) = (findings.count(Severity::Error), findings.count(Severity::Warning));
    text + &match (problems, warnings) {
        (0, 0) => "No problems found.\n".to_owned(),
        (0, _) => format!("No problems found; {}.\n", counted(warnings, "warning")),
        _ => format!("{}, {}.\n", counted(problems, "problem"), counted(warnings, "warning")),
    }
}

fn json(findings: &Findings) -> Value {
    let checks = findings.all.iter().map(|Finding { subject, severity, what, hints, .. }| {
        json!({ "area": subject, "state": label(*severity), "what": what, "hints": hints })
    });
    json!({
        "healthy": is_healthy(findings),
        "problems": findings.count(Severity::Error),
        "warnings": findings.count(Severity::Warning),
        "checks": checks.collect::<Vec<_>>(),
    })
}

/// On one line of any length, without unprintable characters.
fn line(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join(" ")
}

const AT_MOST: Duration = Duration::from_secs(30);

fn servers(online: Option<Duration>, session: &Session) -> Result<Vec<Finding>> {
    let (findings, shown) = match doctor::check(None, online, session) {
        Ok(looked) => looked,
        Err(stopped) if stopped.exit.is_of_signal() => return Err(stopped),
        Err(diagnostic) => return Ok(vec![Finding::from(diagnostic).of("servers")]),
    };
    let is_shown = |finding: &&Finding| is_bad(finding) || is_last_good(finding, &findings.all);
    let shown_ones = findings.all.iter().filter(is_shown);
    let mut checks: Vec<Finding> = shown_ones.map(|finding| check(finding, &shown)).collect();
    if !findings.all.iter().any(|finding| finding.subject.is_some()) {
        checks.push(Finding::good("no MCP servers are configured").of("servers"));
    }
    Ok(checks)
}

fn is_bad(finding: &Finding) -> bool {
    finding.severity > Severity::Advice
}

/// Whether this is the last good finding of a server without bad ones.
fn is_last_good(finding: &Finding, all: &[Finding]) -> bool {
    let mut of_server = all.iter().filter(|other| other.subject == finding.subject);
    !of_server.clone().any(is_bad)
        && of_server.rfind(|other| other.severity == Severity::Good) == Some(finding)
}

fn check(finding: &Finding, shown: &Sanitizer) -> Finding {
    let what = shown.lines(&finding.what, "");
    let (area, what) = match (&finding.subject, &finding.place) {
        (Some(server), _) => ("servers", format!("{server}: {what}")),
        (None, Some(place)) => ("files", format!("{place}: {what}")),
        (None, None) => ("files", what),
    };
    let of = Finding::new(finding.severity, what).of(area);
    let of = finding.hints.iter().fold(of, |of, hint| of.hint(shown.lines(hint, "")));
    if finding.subject.is_some() && finding.severity == Severity::Error {
        of.hint("run `agent mcp doctor` for details")
    } else {
        of
    }
}

#[cfg(test)]
mod tests;
