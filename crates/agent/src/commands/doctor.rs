//! `agent doctor`: everything the program needs, each with what to do where it is not well.

mod service;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use rustix::fs::{Access, access, statvfs};
use serde_json::{Value, json};
use task_loop::Sanitizer;
use task_loop::untrusted::printable;

use super::mcp::doctor::{self, DoctorResult};
use super::metrics::status;
use super::update::{Channel, ChannelArgs};
use crate::diagnostic::Diagnostic;
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connectivity {
    Offline,
    Online,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let reach = if args.offline { Connectivity::Offline } else { Connectivity::Online };
    let mut findings = Findings::default();
    findings.extend(home(session)?);
    let configuration = configuration(session)?;
    let is_readable = configuration.severity != Severity::Error;
    findings.add(configuration);
    findings.extend(if is_readable { everything(reach, session)? } else { Vec::new() });
    #[cfg(feature = "local-model")]
    findings.extend(models(session)?);
    findings.extend(disk(session)?);
    if session.output.is_json() {
        session.output.json(&json(&findings))?;
    } else {
        session.output.text(text(&findings))?;
    }
    if is_healthy(&findings) { Ok(()) } else { Err(Diagnostic::already_told()) }
}

/// What needs a configuration that can be read, all at the same time.
fn everything(reach: Connectivity, session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    thread::scope(|scope| {
        let service = scope.spawn(|| service::look(reach, session));
        let servers = scope.spawn(|| servers(reach, session));
        let mut checks = Vec::new();
        let standing = [metrics(session), updates(session)];
        for looked in [service, servers] {
            // A panic is a bug of ours wherever it happens.
            let looked = looked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            checks.extend(looked?);
        }
        checks.extend(standing);
        Ok(checks)
    })
}

/// Whether those that are there can be used; where there are none there is nothing to say.
#[cfg(feature = "local-model")]
fn models(session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    use crate::model_files::model_dir::ModelDir;
    use crate::table::counted;
    use local_model::About;

    const AREA: &str = "models";
    let shelf = ModelDir::find(session)?;
    let names = match shelf.content() {
        Ok(content) => content.names,
        Err(diagnostic) => return Ok(vec![Finding::from(diagnostic).of(AREA)]),
    };
    let (mut good, mut bytes, mut checks) = (0, 0, Vec::new());
    for name in &names {
        match About::read(&shelf.path(name)) {
            Ok(about) => (good, bytes) = (good + 1, bytes + about.file_bytes),
            Err(problem) => {
                let why = task_loop::untrusted::printable(&problem.to_string());
                let check = Finding::warning(format!("`{name}` cannot be used: {why}")).of(AREA);
                checks.push(check.hint(format!("remove it with `agent models remove {name}`")));
            }
        }
    }
    if good > 0 {
        let (count, size) = (counted(good, "model file"), amount(bytes));
        let what = format!("{count}, {size}, in {}", shelf.folder().display());
        checks.insert(0, Finding::good(what).of(AREA));
    }
    Ok(checks)
}

fn metrics(session: &Session) -> Finding {
    const AREA: &str = "metrics";
    match status::health(session) {
        Ok((line, None)) => Finding::good(line).of(AREA),
        Ok((_, Some(trouble))) | Err(trouble) => Finding::from(trouble).of(AREA),
    }
}

fn updates(session: &Session) -> Finding {
    const AREA: &str = "updates";
    match Channel::find(session, ChannelArgs::default()) {
        Ok(Channel { key: Some(key), .. }) => {
            Finding::good(format!("verified with the key {}", key.place)).of(AREA)
        }
        Ok(Channel { key: None, .. }) => Finding::good("off: no signing key is configured")
            .of(AREA)
            .hint("set `update.public_key` in config.yaml"),
        Err(diagnostic) => Finding::from(diagnostic).of(AREA),
    }
}

fn home(session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    const AREA: &str = "home";
    let config = session.home()?.config();
    let folder = config.parent().unwrap_or(Path::new("/"));
    let shown = folder.display();
    let Ok(found) = fs::metadata(folder) else {
        let check = Finding::warning(format!("{shown} does not exist yet")).of(AREA);
        return Ok(vec![
            check.hint("create it with `agent up`, which also starts a service on this machine"),
        ]);
    };
    let mode = found.permissions().mode() & 0o777;
    Ok(vec![if !found.is_dir() {
        Finding::error(format!("{shown} is not a folder")).of(AREA).hint("move or remove it")
    } else if let Err(error) = access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Finding::error(format!("cannot write to {shown}: {error}"))
            .of(AREA)
            .hint("change the owner or the permissions of the folder")
    } else if mode & 0o022 != 0 {
        Finding::error(format!("other users can change files in {shown} (mode {mode:o})"))
            .of(AREA)
            .hint(format!("chmod 700 {shown}"))
    } else if mode & 0o077 != 0 {
        Finding::warning(format!("other users can access {shown} (mode {mode:o})"))
            .of(AREA)
            .hint(format!("chmod 700 {shown}"))
    } else {
        Finding::good(shown.to_string()).of(AREA)
    }])
}

fn configuration(session: &Session) -> Result<Finding, Diagnostic> {
    const AREA: &str = "config";
    let path = session.home()?.config();
    Ok(match session.config()?.root() {
        Ok(_) if path.exists() => Finding::good(path.display().to_string()).of(AREA),
        Ok(_) => Finding::good("no config.yaml; the defaults apply").of(AREA),
        Err(diagnostic) => Finding::from(diagnostic)
            .of(AREA)
            .hint("checks that depend on it were skipped; fix it and run `agent doctor` again"),
    })
}

/// The room on the disk of the home folder.
fn disk(session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    const AREA: &str = "disk";
    let config = session.home()?.config();
    let Some(folder) = config.ancestors().skip(1).find(|folder| folder.exists()) else {
        return Ok(Vec::new());
    };
    let Ok(disk) = statvfs(folder) else { return Ok(Vec::new()) };
    let Some(free) = free_bytes(&disk) else { return Ok(Vec::new()) };
    let what = format!("{} free at {}", amount(free), folder.display());
    Ok(vec![match free {
        0..LEAST_BYTES => Finding::error(what).of(AREA).hint("free up disk space"),
        LEAST_BYTES..LITTLE_BYTES => {
            Finding::warning(what).of(AREA).hint("free up disk space soon")
        }
        _ => Finding::good(what).of(AREA),
    }])
}

const fn word(severity: Severity) -> &'static str {
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
        let (style, word) = (severity.style(), word(*severity));
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
        json!({ "area": subject, "state": word(*severity), "what": what, "hints": hints })
    });
    json!({
        "healthy": is_healthy(findings),
        "problems": findings.count(Severity::Error),
        "warnings": findings.count(Severity::Warning),
        "checks": checks.collect::<Vec<_>>(),
    })
}

/// On one line, however long; what cannot be shown is not.
fn line(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join(" ")
}

fn shown(text: &str) -> String {
    if text.chars().any(char::is_control) { printable(text) } else { text.to_owned() }
}

const AT_MOST: Duration = Duration::from_secs(30);

fn servers(reach: Connectivity, session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    let reach = match reach {
        Connectivity::Offline => doctor::Connectivity::Offline,
        Connectivity::Online => doctor::Connectivity::Online { at_most: AT_MOST },
    };
    let DoctorResult { findings, shown } = match doctor::look(None, reach, session) {
        Ok(looked) => looked,
        Err(stopped) if stopped.exit.is_of_signal() => return Err(stopped),
        Err(diagnostic) => return Ok(vec![Finding::from(diagnostic).of("servers")]),
    };
    let mut checks = Vec::new();
    for finding in &findings.all {
        let is_shown = match finding.severity {
            Severity::Error | Severity::Warning => true,
            // The last good finding of a server is enough.
            Severity::Good => is_last(finding, &findings.all),
            Severity::Advice => false,
        };
        if is_shown {
            checks.push(check(finding, &shown));
        }
    }
    if !findings.all.iter().any(|finding| finding.subject.is_some()) {
        checks.push(Finding::good("no MCP servers are configured").of("servers"));
    }
    Ok(checks)
}

fn is_last(finding: &Finding, all: &[Finding]) -> bool {
    let mut of_server = all.iter().rev().filter(|other| other.subject == finding.subject);
    let is_bad = all
        .iter()
        .any(|other| other.subject == finding.subject && other.severity > Severity::Advice);
    !is_bad && of_server.find(|other| other.severity == Severity::Good) == Some(finding)
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
