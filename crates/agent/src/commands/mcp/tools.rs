//! `agent mcp tools`: the callable tools with their names and costs.

use mcp_client::Client;
use mcp_client::config::ServerEntry;
use mcp_client::registry::{RegisteredTool, ToolAction};
use mcp_client::supervisor::ServerState;
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, already_reported};
use crate::output::{DIM, WARNING};
use crate::session::Session;
use crate::table::{Table, counted, grouped};

/// List the tools of all servers or of one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Unusable tools and servers that are not ready are listed on stderr.

Examples:
  agent mcp tools
  agent mcp tools files
  agent mcp tools files --schema --json")]
pub(crate) struct Args {
    /// Server name
    server: Option<String>,
    /// Print the input schema of each tool
    #[arg(long)]
    schema: bool,
    /// Include the tools that `tools` of the configuration excludes
    #[arg(long)]
    all: bool,
}

/// The unusable servers, with the reasons.
type Failed<'e> = [(&'e ServerEntry, Diagnostic)];

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let mut fleet = McpServers::load(session, MessageSink::Notes)?;
    if args.server.is_some() {
        fleet.with_browser(session);
    }
    let mut entries: Vec<ServerEntry> = if let Some(name) = &args.server {
        let entry = fleet.servers.find(name)?.entry.clone();
        fleet.servers.report_problems_of(name, session);
        for twin in fleet.servers.twins(name) {
            session.output.warn(format!(
                "the tools of `{}` have the same names; call these with `{name}/TOOL`",
                printable(twin)
            ));
        }
        vec![entry]
    } else {
        fleet.servers.check_file()?;
        fleet.servers.report_problems(session);
        fleet.servers.enabled().cloned().collect()
    };
    if args.all {
        for entry in &mut entries {
            entry.tools.include = None;
            entry.tools.exclude = Vec::new();
        }
    }
    fleet.run(entries.clone(), async |client| {
        fleet.settle(client, fleet.patience(&entries)).await;
        let failed = fleet.failures(client, &entries);
        report_unusable(client, &fleet, &failed, session);
        show(client, &fleet, args, &failed, session)?;
        if client.registry().is_empty() && !failed.is_empty() && failed.len() == entries.len() {
            let exit = match &*failed {
                [(_, why)] => why.exit,
                _ => Exit::Peer,
            };
            return Err(already_reported(exit));
        }
        Ok(())
    })
}

fn report_unusable(client: &Client, fleet: &McpServers, failed: &Failed<'_>, session: &Session) {
    let (output, shown) = (&session.output, &fleet.shown);
    let tell = |word: &str, text: String| {
        if output.is_json() {
            output.warn(format!("{word}: {text}"));
        } else {
            output.note(format!("{WARNING}{word}:{WARNING:#} {text}"));
        }
    };
    for status in client.status() {
        let server = &status.server;
        for tool in &status.quarantined {
            let (name, why) = (shown.line(&tool.name), shown.line(&tool.reason));
            tell("unusable", format!("`{name}` of {server}: {why}"));
        }
    }
    for tool in client.registry().skipped() {
        let (name, why) = (shown.line(&tool.native_name), shown.line(&tool.reason));
        tell("skipped", format!("`{name}` of {}: {why}", tool.server));
    }
    for status in client.status() {
        if let (ServerState::Degraded { reason }, server) = (&status.state, &status.server) {
            let reason = shown.first_line(reason);
            tell("degraded", format!("server `{server}`: {reason}"));
        }
    }
    for (_, why) in failed {
        let message = why.message.as_deref().unwrap_or_default();
        tell("not ready", message.to_owned());
        if output.is_json() {
            // The JSON contains the rest.
            continue;
        }
        for line in &why.causes {
            output.note(format!("  {line}"));
        }
        for hint in &why.hints {
            output.note(format!("  hint: {hint}"));
        }
    }
}

fn show(
    client: &Client,
    fleet: &McpServers,
    args: &Args,
    failed: &Failed<'_>,
    session: &Session,
) -> Result {
    let registry = client.registry();
    let tokens: u32 = registry.entries().map(|entry| entry.tokens).sum();
    if session.output.is_json() {
        let tools: Vec<Value> =
            registry.entries().map(|entry| tool_json(entry, args, fleet)).collect();
        let quarantined = client.status().into_iter().flat_map(|status| {
            let server = status.server;
            status.quarantined.into_iter().map(
                move |tool| json!({ "server": server, "name": tool.name, "reason": tool.reason }),
            )
        });
        let skipped = registry.skipped().iter().map(
            |tool| json!({ "server": &*tool.server, "name": tool.native_name, "reason": tool.reason }),
        );
        let not_ready = failed
            .iter()
            .map(|(entry, why)| json!({ "server": entry.name, "error": why.to_json()["error"] }));
        return session.output.json(&fleet.shown.json(json!({
            "tools": tools,
            "tokens": tokens,
            "quarantined": quarantined.collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
            "not_ready": not_ready.collect::<Vec<_>>(),
        })));
    }
    if args.schema {
        for entry in registry.entries() {
            session.output.verbatim(with_schema(entry, fleet))?;
        }
    } else if !registry.is_empty() {
        session.output.text(table(&registry.entries().collect::<Vec<_>>(), fleet))?;
    }
    let (tools, tokens) = (counted(registry.len(), "tool"), grouped(tokens));
    session.output.note(format!("{tools}, about {tokens} tokens per request"));
    Ok(())
}

fn table(entries: &[&RegisteredTool], fleet: &McpServers) -> String {
    let mut table = Table::new(["tool", "native name", "access", "tokens", "description"])
        .align_right(&["tokens"]);
    for entry in entries {
        table.row([
            entry.name.to_string(),
            native(entry).map(|name| fleet.shown.line(name)).unwrap_or_default(),
            access(entry).to_owned(),
            grouped(entry.tokens),
            fleet.shown.first_line(&entry.description),
        ]);
    }
    table.text()
}

fn with_schema(entry: &RegisteredTool, fleet: &McpServers) -> String {
    let schema = fleet.shown.json((*entry.schema).clone());
    let schema = serde_json::to_string_pretty(&schema).unwrap_or_default();
    let native = native(entry).map(|name| format!(", native name {}", fleet.shown.line(name)));
    format!(
        "{} ({}, {} tokens{})\n  {}\n{DIM}{}{DIM:#}\n\n",
        entry.name,
        access(entry),
        grouped(entry.tokens),
        native.unwrap_or_default(),
        fleet.shown.lines(&entry.description, "  "),
        fleet.shown.lines(&schema, ""),
    )
}

/// The native name of a tool, if the registered name does not show it.
fn native(entry: &RegisteredTool) -> Option<&str> {
    let native = entry.native_name();
    (!entry.name.ends_with(&format!("__{native}"))).then_some(native)
}

/// The access of a tool, and whether its calls need approval.
pub(crate) fn access(entry: &RegisteredTool) -> &'static str {
    match &entry.action {
        _ if entry.needs_approval() => "needs approval",
        ToolAction::Tool(tool) if !tool.read_only() => "may change",
        _ => "reads only",
    }
}

fn tool_json(entry: &RegisteredTool, args: &Args, fleet: &McpServers) -> Value {
    let mut tool = json!({
        "name": &*entry.name,
        "server": &*entry.server,
        "native_name": entry.native_name(),
        "read_only": access(entry) == "reads only",
        "needs_approval": entry.needs_approval(),
        "tokens": entry.tokens,
        "description": &*entry.description,
    });
    if args.all && matches!(entry.action, ToolAction::Tool(_)) {
        let server = fleet.servers.entries().find(|server| *server.name == *entry.server);
        let is_used = server.is_some_and(|server| server.tools.admits(entry.native_name()));
        tool["excluded"] = (!is_used).into();
    }
    if args.schema {
        tool["schema"] = (*entry.schema).clone();
    }
    tool
}
