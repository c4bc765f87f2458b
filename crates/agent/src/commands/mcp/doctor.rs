//! `agent mcp doctor`: checks MCP servers, with a fix for each problem.

mod offline;

use std::time::Duration;

use mcp_client::config::{Configured, Endpoint, Problem, ServerEntry, ToolPolicy, Verify};
use mcp_client::content::injection_warnings;
use mcp_client::oauth::client_document::{self, FetchedDocument, RuleViolation};
use mcp_client::registry::Registry;
use mcp_client::supervisor::{ServerState, ServerStatus};
use serde_json::{Value, json};
use task_loop::Sanitizer;

use crate::diagnostic::{Diagnostic, Result};
use crate::finding::{Finding, Findings, Severity};
use crate::mcp::advice::{operand_with, test};
use crate::mcp::client_document::{BUILT_IN, address, fault, in_its_place};
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, oauth};
use crate::session::Session;
use crate::table::{counted, grouped};

/// Find problems with MCP servers and suggest fixes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 no problem found, 1 problems found.

Examples:
  agent mcp doctor
  agent mcp doctor files
  agent mcp doctor --offline --json")]
pub(crate) struct Args {
    /// Check only this server
    server: Option<String>,
    /// Skip checks that connect to servers
    #[arg(long)]
    offline: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let online = (!args.offline).then_some(Duration::MAX);
    let (findings, shown) = check(args.server.as_deref(), online, session)?;
    session.output.print(&shown.json(json(&findings)), text(&findings, &shown))?;
    if is_bad(&findings) { Err(Diagnostic::already_reported()) } else { Ok(()) }
}

/// The findings, and what they are shown with. `online` is the maximum time to wait for servers;
/// without it, nothing is connected.
pub(crate) fn check(
    server: Option<&str>,
    online: Option<Duration>,
    session: &Session,
) -> Result<(Findings, Sanitizer)> {
    let fleet = McpServers::load(session, MessageSink::Kept)?;
    let chosen: Vec<&Configured> = match server {
        // A server with errors is not listed; its problems are findings.
        Some(name) if fleet.servers.problems_of(name).any(Problem::is_error) => Vec::new(),
        Some(name) => vec![fleet.servers.find(name)?],
        None => fleet.servers.parsed.servers.iter().collect(),
    };
    let mut doctor = Doctor { fleet: &fleet, session, findings: Findings::default() };
    doctor.configuration(server);
    doctor.files()?;
    for configured in &chosen {
        doctor.server(configured);
    }
    let entries: Vec<_> =
        chosen.iter().map(|found| &found.entry).filter(|entry| entry.enabled).collect();
    doctor.unused_documents(&entries);
    if let Some(at_most) = online {
        // Servers with known errors are not tried.
        let mut enabled = entries.clone();
        enabled.retain(|entry| !doctor.findings.has_error(&entry.name));
        if !enabled.is_empty() {
            doctor.online(&enabled, at_most)?;
        }
        doctor.check_documents(&entries)?;
    }
    let mut findings = doctor.findings;
    if chosen.is_empty() && server.is_none() && findings.worst().is_none() {
        findings
            .add(Finding::advice("no servers are configured").hint("add one with `agent mcp add`"));
    }
    Ok((findings, fleet.shown))
}

/// The checks, with what they found.
struct Doctor<'a> {
    fleet: &'a McpServers,
    session: &'a Session,
    findings: Findings,
}

const fn label(severity: Severity) -> &'static str {
    match severity {
        Severity::Good => "good",
        Severity::Advice => "advice",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn is_bad(findings: &Findings) -> bool {
    findings.worst() > Some(Severity::Advice)
}

/// The worst come last, next to the prompt.
fn text(findings: &Findings, shown: &Sanitizer) -> String {
    let mut sorted: Vec<&Finding> = findings.all.iter().collect();
    sorted.sort_by_key(|finding| finding.severity);
    let mut text = String::new();
    for finding in sorted {
        let style = finding.severity.style();
        let of = finding.subject.as_ref().map(|server| format!("{server}: ")).unwrap_or_default();
        let what = shown.lines(&finding.what, "         ");
        text += &format!("{style}{:<8}{style:#} {of}{what}\n", label(finding.severity));
        if let Some(place) = &finding.place {
            text += &format!("         where: {place}\n");
        }
        for hint in &finding.hints {
            text += &format!("         fix: {}\n", shown.lines(hint, "         "));
        }
    }
    text + &summary(findings)
}

fn summary(findings: &Findings) -> String {
    let (errors, warnings) = (findings.count(Severity::Error), findings.count(Severity::Warning));
    if errors + warnings == 0 {
        return "No problems found.\n".to_owned();
    }
    format!("Found {} and {}.\n", counted(errors, "error"), counted(warnings, "warning"))
}

fn json(findings: &Findings) -> Value {
    let all = findings.all.iter().map(|finding| {
        json!({
            "severity": label(finding.severity),
            "what": finding.what,
            "server": finding.subject,
            "where": finding.place,
            "fixes": finding.hints,
        })
    });
    json!({ "healthy": !is_bad(findings), "findings": all.collect::<Vec<_>>() })
}

/// The number of tokens of all tools from which on a finding advises fewer.
const MANY_TOKENS: u32 = 20_000;

impl Doctor<'_> {
    fn online(&mut self, enabled: &[&ServerEntry], at_most: Duration) -> Result {
        let entries: Vec<ServerEntry> = enabled.iter().map(|&entry| entry.clone()).collect();
        let spinner = self.session.output.spinner();
        let (statuses, registry) = self.fleet.run(entries, async |client| {
            spinner.set_message(format!("connecting {}", counted(enabled.len(), "server")));
            let patience = self.fleet.patience(enabled.iter().copied());
            client.wait_until_settled(patience.min(at_most)).await;
            spinner.finish_and_clear();
            Ok((client.status(), client.registry()))
        })?;
        for status in &statuses {
            if let Some(entry) = enabled.iter().find(|entry| entry.name == status.server) {
                self.settled(entry, status, &registry);
            }
        }
        for tool in registry.skipped() {
            let what = format!("its tool `{}` is skipped: {}", tool.native_name, tool.reason);
            let fix = "exclude one of them with `tools.exclude`, or rename the server";
            self.findings.add(Finding::warning(what).of(&*tool.server).hint(fix));
        }
        for tool in registry.entries() {
            for warning in injection_warnings(&tool.description) {
                let what = format!("check the description of `{}`: {warning}", tool.native_name());
                let fix = format!(
                    "show it with `agent mcp tools {}`; hide it with `tools.exclude`",
                    operand_with(&tool.server, "--schema")
                );
                self.findings.add(Finding::warning(what).of(&*tool.server).hint(fix));
            }
        }
        let tokens: u32 = registry.entries().map(|entry| entry.tokens).sum();
        if tokens > MANY_TOKENS {
            let (tools, tokens) = (counted(registry.len(), "tool"), grouped(tokens));
            let what = format!("{tools} use about {tokens} tokens per request");
            let fix = "list the tools you need in `tools.include`";
            self.findings.add(Finding::advice(what).hint(fix));
        }
        // The state of the server covers worse results.
        let warnings = self.fleet.reporter.warnings().into_iter();
        self.findings.extend(warnings.map(|(server, text)| Finding::advice(text).of(server)));
        Ok(())
    }

    fn settled(&mut self, entry: &ServerEntry, status: &ServerStatus, registry: &Registry) {
        let name = &entry.name;
        let mut add = |finding: Finding| self.findings.add(finding.of(name));
        let step_by_step = format!("test it step by step with `{}`", test(name));
        if let Some(why) = self.fleet.unusable(entry, status) {
            let what = why.message.unwrap_or_default();
            let what = what.strip_prefix(&format!("server `{name}`: ")).unwrap_or(&what);
            let said = why.causes.iter().map(|cause| format!("\n{cause}"));
            let what = format!("{what}{}", said.collect::<String>());
            add(Finding { hints: why.hints, ..Finding::error(what) }.hint(step_by_step));
            return;
        }
        if let ServerState::Degraded { reason } = &status.state {
            add(Finding::warning(reason).hint(step_by_step));
        }
        let (tools, tokens) = (counted(status.tools, "tool"), grouped(status.tokens));
        add(Finding::good(format!("responds, with {tools} of about {tokens} tokens")));
        for pattern in entry.tools.include.iter().flatten() {
            let only = ToolPolicy { include: Some(vec![pattern.clone()]), ..ToolPolicy::default() };
            let mut tools = registry.entries().filter(|tool| *tool.server == **name);
            if !tools.any(|tool| only.admits(tool.native_name())) {
                let what = format!("`{pattern}` in `tools.include` matches none of its tools");
                add(Finding::advice(what).hint("correct or remove the pattern"));
            }
        }
        for tool in &status.quarantined {
            let what = format!("its tool `{}` cannot be used: {}", tool.name, tool.reason);
            add(Finding::warning(what).hint("report this to the maintainers of the server"));
        }
    }

    /// Findings that need no request.
    fn unused_documents(&mut self, entries: &[&ServerEntry]) {
        if let Some((built_in, why)) = fault(BUILT_IN) {
            let what = format!("the built-in client document `{built_in}` is not used: {why}");
            let fix = "set `mcp.client_metadata_url` in config.yaml, or report this to the \
                       distributor of the program";
            self.findings.add(Finding::warning(what).hint(fix));
        }
        for entry in entries {
            if let Some(options) = oauth(entry)
                && options.client_metadata_url.is_some()
                && let Some(key) = in_its_place(options)
            {
                let what =
                    format!("`oauth.client_metadata_url` is ignored, because `oauth.{key}` is set");
                self.findings
                    .add(Finding::advice(what).of(&*entry.name).hint("remove one of them"));
            }
        }
    }

    fn check_documents(&mut self, entries: &[&ServerEntry]) -> Result {
        let Self { fleet, session, findings } = self;
        let used = entries.iter().filter_map(|entry| {
            let Endpoint::Http(http) = &entry.endpoint else { return None };
            Some((entry.name.clone(), http, address(oauth(entry)?, &fleet.servers.parsed)?))
        });
        let used: Vec<_> = used.collect();
        if used.is_empty() {
            return Ok(());
        }
        let spinner = session.output.spinner();
        spinner.set_message(format!("fetching {}", counted(used.len(), "client document")));
        let done = fleet.run(Vec::new(), async |_| {
            // Most servers share one document and its certificate settings.
            let mut known: Vec<(&str, &Verify, Result<FetchedDocument, String>)> = Vec::new();
            for (name, http, url) in &used {
                let is_it =
                    |known: &&(&str, &Verify, _)| known.0 == *url && *known.1 == http.verify;
                if !known.iter().any(|known| is_it(&known)) {
                    let answer = client_document::fetch(http, &fleet.host, url).await;
                    known.push((url, &http.verify, answer.map_err(|error| error.to_string())));
                }
                let answers = known.iter().find(is_it).map(|(_, _, answer)| answer);
                for finding in answers.into_iter().flat_map(|answer| judged(url, answer)) {
                    findings.add(finding.of(name));
                }
            }
            Ok(())
        });
        spinner.finish_and_clear();
        done
    }
}

fn judged(url: &str, answer: &Result<FetchedDocument, String>) -> Vec<Finding> {
    const OTHERWISE: &str = "or set `oauth.cimd: false` to sign in without a document";
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            let what = format!("cannot fetch its client document {url}: {error}");
            let fix = "serve it there publicly";
            return vec![Finding::error(what).hint(fix).hint(OTHERWISE)];
        }
    };
    let broken = client_document::check(url, answer);
    if broken.is_empty() {
        let what = format!("its client document {url} follows all four rules");
        return vec![Finding::good(what)];
    }
    let findings = broken.iter().map(|broken| {
        let what = format!("its client document {url} breaks rule {}: {broken}", broken.rule());
        Finding::error(what).hint(fix(url, broken)).hint(OTHERWISE)
    });
    findings.collect()
}

fn fix(url: &str, broken: &RuleViolation) -> String {
    match broken {
        RuleViolation::Address(_) => {
            format!("serve it at another URL: {}", client_document::RULES[0])
        }
        RuleViolation::Status(_) => format!("serve the document at {url} with status 200"),
        RuleViolation::Redirected { .. } => {
            "serve it there without a redirect, or use the URL it redirects to".to_owned()
        }
        RuleViolation::ContentType { .. } => {
            "make the web server send `Content-Type: application/json`".to_owned()
        }
        RuleViolation::NotJson
        | RuleViolation::MissingRedirects { .. }
        | RuleViolation::ClientId { .. } => {
            format!("print a valid one with `agent mcp client-document --url {url}`")
        }
    }
}

#[cfg(test)]
mod tests;
