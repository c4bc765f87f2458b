//! `agent mcp project`: the servers in project files, and their approval.

use serde_json::{Value, json};
use task_loop::untrusted::printable;

use super::candidate::Candidate;
use super::install::dialog;
use crate::diagnostic::{Diagnostic, Result};
use crate::mcp::project::{self, ApprovalState, ProjectFile};
use crate::mcp::scope;
use crate::output::{GOOD, WARNING};
use crate::prompt::Prompt;
use crate::session::Session;
use crate::table::{Table, counted};

/// Show and approve the servers of the project
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`.agent/config.yaml`, `.mcp.json` and `.vscode/mcp.json` in the working directory and above it, up \
to the root of the repository, can have servers. They are used after you approve the file; a \
changed file needs approval again.

Examples:
  agent mcp project
  agent mcp project --approve
  agent mcp project --forget")]
pub(crate) struct Args {
    /// Show each server and approve the files
    #[arg(long)]
    approve: bool,
    /// Approve without confirmation
    #[arg(long, short, requires = "approve")]
    yes: bool,
    /// Withdraw the approval of the files
    #[arg(long, conflicts_with = "approve")]
    forget: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let files = project::files(session)?;
    if args.forget {
        for file in &files {
            file.set_approved(false, session)?;
        }
        session.output.note(format!("{} withdrawn", counted(files.len(), "approval")));
        return Ok(());
    }
    if !args.approve {
        return list(&files, session);
    }
    let prompt = Prompt::find(&session.output).filter(|_| !args.yes);
    if prompt.is_none() && !args.yes {
        let message = "the approval needs confirmation, but no terminal is attached";
        return Err(Diagnostic::failed(message).hint("review the files, then confirm with `--yes`"));
    }
    for file in files.iter().filter(|file| file.state != ApprovalState::Approved) {
        let is_usable = file.fault.is_none();
        let is_yes = match &prompt {
            Some(prompt) if is_usable => prompt.confirm(&question(file, session)?)?,
            _ => is_usable,
        };
        if is_yes {
            file.set_approved(true, session)?;
            let path = printable(&file.path.display().to_string());
            session.output.note(format!("{GOOD}Approved{GOOD:#} {path}."));
        }
    }
    list(&project::files(session)?, session)
}

/// Asks the person about unapproved files; without a terminal it prints a note.
pub(crate) fn offer(session: &Session) -> Result {
    let files = project::files(session)?;
    let open = files.iter().filter(|file| file.state != ApprovalState::Approved);
    for file in open.filter(|file| file.fault.is_none()) {
        let Some(prompt) = Prompt::find(&session.output) else { continue };
        if prompt.confirm(&question(file, session)?)? {
            file.set_approved(true, session)?;
        }
    }
    Ok(())
}

/// The servers of the file, and the question whether to use them.
fn question(file: &ProjectFile, session: &Session) -> Result<String> {
    let home = session.home()?;
    let scope = file.scope(&scope(session, &home)?);
    let path = dialog::line(&file.path.display().to_string());
    let mut text = format!("{path} has MCP servers ({}).\n", file.state.as_str());
    for (name, entry) in &file.servers {
        let candidate = project::check(entry)
            .map_err(Diagnostic::configuration)
            .and_then(|()| Candidate::check(name, entry.clone(), Vec::new(), &scope));
        match candidate {
            Ok(candidate) => text.push_str(&format!("\n{}\n", dialog::entry(&candidate, &scope))),
            Err(diagnostic) => {
                let why = dialog::line(&diagnostic.line());
                let name = dialog::line(name);
                text.push_str(&format!(
                    "\n{WARNING}note:{WARNING:#} `{name}` is not used: {why}\n"
                ));
            }
        }
    }
    Ok(text + "\nUse the servers of this file, as they are now?")
}

fn list(files: &[ProjectFile], session: &Session) -> Result {
    let json = files.iter().map(|file| {
        let names: Vec<&str> = file.servers.iter().map(|(name, _)| name.as_str()).collect();
        json!({
            "path": file.path.to_string_lossy(), "state": file.state.as_str(), "servers": names, "error": file.fault,
        })
    });
    let rows = files.iter().map(|file| {
        let names: Vec<String> = file.servers.iter().map(|(name, _)| printable(name)).collect();
        let state = match &file.fault {
            Some(fault) => format!("not used: {}", printable(fault)),
            None => file.state.as_str().to_owned(),
        };
        [file.path.display().to_string(), state, names.join(", ")]
    });
    let (json, output) = (json!({ "files": json.collect::<Value>() }), &session.output);
    let table = Table::new(["file", "state", "servers"]).rows(rows);
    table.print(output, &json, "No file of this project has MCP servers.")
}
