//! `agent mcp approvals`: the tools that run without a question, and taking that back.

use serde_json::{Value, json};
use task_loop::approval_memory::ApprovalMemory;
use task_loop::untrusted::printable;

use crate::diagnostic::Diagnostic;
use crate::mcp::approval::ApprovalFile;
use crate::session::Session;
use crate::table::{Table, counted};

/// List or revoke remembered tool approvals
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A revoked tool asks again at its next call. `tools.approval` in config.yaml sets approvals by \
pattern.

Examples:
  agent mcp approvals
  agent mcp approvals --revoke files/write_file
  agent mcp approvals --revoke files")]
pub(crate) struct Args {
    /// Revoke the approvals of a server or tool; can be repeated
    #[arg(long, value_name = "SERVER[/TOOL]")]
    revoke: Vec<String>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let store = ApprovalFile(session.home()?.approvals());
    let cannot = |error: &std::io::Error| {
        Diagnostic::failed("cannot read or write the approvals").because(error)
    };
    let mut revoked = 0;
    for name in &args.revoke {
        // Names of servers may contain a slash, too.
        let whole = ApprovalMemory::revoke(&store, name, None).map_err(|error| cannot(&error))?;
        let tool = match name.split_once('/') {
            Some((server, tool)) if whole == 0 => {
                ApprovalMemory::revoke(&store, server, Some(tool))
                    .map_err(|error| cannot(&error))?
            }
            _ => 0,
        };
        if whole + tool == 0 {
            let message = format!("no approval of `{}`", printable(name));
            return Err(
                Diagnostic::usage(message).hint("list the approvals with `agent mcp approvals`")
            );
        }
        revoked += whole + tool;
    }
    if !args.revoke.is_empty() {
        if session.output.is_json() {
            return session.output.json(&json!({ "revoked": revoked }));
        }
        session.output.note(format!("{} revoked", counted(revoked, "approval")));
        return Ok(());
    }
    let memory = ApprovalMemory::read(&store).map_err(|error| cannot(&error))?;
    list(&memory, session)
}

fn list(memory: &ApprovalMemory, session: &Session) -> Result<(), Diagnostic> {
    let approved: Vec<_> = memory.all().filter(|(_, _, tool)| tool.always).collect();
    if session.output.is_json() {
        let approved: Vec<Value> = approved
            .iter()
            .map(|(server, name, _)| json!({"server": server, "tool": name}))
            .collect();
        return session.output.json(&json!({ "approvals": approved }));
    }
    if approved.is_empty() {
        session.output.note("No tool is approved for further calls.");
        return Ok(());
    }
    let mut table = Table::new(["server", "tool", "description"]);
    for (server, name, tool) in approved {
        let about = printable(tool.definition.lines().next().unwrap_or_default());
        table.row([printable(server), printable(name), about]);
    }
    session.output.text(table.text())
}
