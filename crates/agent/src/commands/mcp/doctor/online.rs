//! What only shows when the servers are connected.

use std::time::Duration;

use mcp_client::config::{ServerEntry, ToolPolicy};
use mcp_client::content::injection_warnings;
use mcp_client::supervisor::ServerState;

use crate::diagnostic::Diagnostic;
use crate::finding::{Finding, Findings};
use crate::mcp::advice::{operand_with, test};
use crate::mcp::{McpServers, patience};
use crate::session::Session;
use crate::table::{counted, grouped};

/// Tokens of all tools together from which on less would be better.
const MANY_TOKENS: u32 = 20_000;

/// Connects the servers and looks at what they offer.
pub(super) fn servers(
    fleet: &McpServers,
    enabled: &[&ServerEntry],
    at_most: Duration,
    session: &Session,
    findings: &mut Findings,
) -> Result<(), Diagnostic> {
    let entries: Vec<ServerEntry> = enabled.iter().map(|&entry| entry.clone()).collect();
    let spinner = session.output.spinner();
    fleet.run(entries, async |client| {
        spinner.set_message(format!("connecting {}", counted(enabled.len(), "server")));
        client.wait_until_settled(patience(enabled.iter().copied()).min(at_most)).await;
        spinner.finish_and_clear();
        let registry = client.registry();
        for status in client.status() {
            let name = &status.server;
            let Some(entry) = enabled.iter().find(|entry| entry.name == *name) else { continue };
            if let Some(why) = fleet.unusable(entry, &status) {
                let what = why.message.unwrap_or_default();
                let what = what.strip_prefix(&format!("server `{name}`: ")).unwrap_or(&what);
                let said = why.causes.iter().map(|cause| format!("\n{cause}"));
                let what = format!("{what}{}", said.collect::<String>());
                let finding = why.hints.into_iter().fold(Finding::error(what), Finding::hint);
                findings.add(
                    finding.of(name).hint(format!("test it step by step with `{}`", test(name))),
                );
                continue;
            }
            if let ServerState::Degraded { reason } = &status.state {
                let fix = format!("test it step by step with `{}`", test(name));
                findings.add(Finding::warning(reason).of(name).hint(fix));
            }
            let answered = format!(
                "responds, with {} of about {} tokens",
                counted(status.tools, "tool"),
                grouped(status.tokens)
            );
            findings.add(Finding::good(answered).of(name));
            for pattern in entry.tools.include.iter().flatten() {
                let only =
                    ToolPolicy { include: Some(vec![pattern.clone()]), ..ToolPolicy::default() };
                let mut tools = registry.entries().filter(|tool| *tool.server == **name);
                if !tools.any(|tool| only.admits(tool.native_name())) {
                    let what = format!("`{pattern}` in `tools.include` matches none of its tools");
                    findings
                        .add(Finding::advice(what).of(name).hint("correct or remove the pattern"));
                }
            }
            for tool in &status.quarantined {
                let what = format!("its tool `{}` cannot be used: {}", tool.name, tool.reason);
                findings.add(
                    Finding::warning(what)
                        .of(name)
                        .hint("report this to the maintainers of the server"),
                );
            }
        }
        for tool in registry.skipped() {
            let what = format!("its tool `{}` is skipped: {}", tool.native_name, tool.reason);
            let fix = "exclude one of them with `tools.exclude`, or rename the server";
            findings.add(Finding::warning(what).of(&*tool.server).hint(fix));
        }
        for tool in registry.entries() {
            for warning in injection_warnings(&tool.description) {
                let what = format!("check the description of `{}`: {warning}", tool.native_name());
                let fix = format!(
                    "show it with `agent mcp tools {}`; hide it with `tools.exclude`",
                    operand_with(&tool.server, "--schema")
                );
                findings.add(Finding::warning(what).of(&*tool.server).hint(fix));
            }
        }
        let tokens: u32 = registry.entries().map(|entry| entry.tokens).sum();
        if tokens > MANY_TOKENS {
            let what = format!(
                "{} use about {} tokens per request",
                counted(registry.len(), "tool"),
                grouped(tokens)
            );
            findings.add(Finding::advice(what).hint("list the tools you need in `tools.include`"));
        }
        Ok(())
    })?;
    for (server, text) in fleet.reporter.warnings() {
        // Whatever is worse shows in the state of the server.
        findings.add(Finding::advice(text).of(&*server));
    }
    Ok(())
}
