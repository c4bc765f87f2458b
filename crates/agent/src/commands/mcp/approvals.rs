//! `agent mcp approvals`: lists and revokes remembered approvals of tools.

use serde_json::{Value, json};
use task_loop::approval_memory::ApprovalMemory;
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::mcp::approval::ApprovalFile;
use crate::session::Session;
use crate::table::{Table, counted};

/// List or revoke remembered tool approvals
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A revoked tool asks again at its next call. A server of a project file is listed as SERVER@FOLDER. \
`tools.approval` in config.yaml sets approvals by pattern.

Examples:
  agent mcp approvals
  agent mcp approvals --revoke files/write_file
  agent mcp approvals --revoke files")]
pub(crate) struct Args {
    /// Revoke the approvals of a server or tool; can be repeated
    #[arg(long, value_name = "SERVER[/TOOL]")]
    revoke: Vec<String>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    const CANNOT: &str = "cannot read or write the approvals";
    let store = ApprovalFile(session.home()?.approvals());
    let mut revoked = 0;
    for name in &args.revoke {
        let memory = ApprovalMemory::read(&store).or_failed(CANNOT)?;
        // Tool names and project folders may contain slashes, too.
        let meant = memory.all().find_map(|(server, tool, _)| {
            let is_tool =
                name.strip_prefix(server).and_then(|it| it.strip_prefix('/')) == Some(tool);
            (is_tool || name == server).then_some((server, is_tool.then_some(tool)))
        });
        let done =
            meant.map_or(Ok(0), |(server, tool)| ApprovalMemory::revoke(&store, server, tool));
        let done = done.or_failed(CANNOT)?;
        if done == 0 {
            return Err(Diagnostic::usage(format!("no approval of `{}`", printable(name)))
                .hint("list the approvals with `agent mcp approvals`"));
        }
        revoked += done;
    }
    if !args.revoke.is_empty() {
        if session.output.is_json() {
            return session.output.json(&json!({ "revoked": revoked }));
        }
        session.output.note(format!("{} revoked", counted(revoked, "approval")));
        return Ok(());
    }
    list(&ApprovalMemory::read(&store).or_failed(CANNOT)?, session)
}

fn list(memory: &ApprovalMemory, session: &Session) -> Result {
    let approved: Vec<_> = memory.all().filter(|(_, _, tool)| tool.always).collect();
    let names = |(server, name, _): &_| json!({ "server": server, "tool": name });
    let json = json!({ "approvals": approved.iter().map(names).collect::<Value>() });
    let rows = approved.iter().map(|(server, name, tool)| {
        let about = tool.definition.lines().next().unwrap_or_default();
        [*server, *name, about].map(printable)
    });
    let table = Table::new(["server", "tool", "description"]).rows(rows);
    table.print(&session.output, &json, "No tool is approved for further calls.")
}
