//! `agent mcp install`: installs the server of an install link, after confirmation.

mod dangers;
pub(crate) mod dialog;

use mcp_client::config::valid_name;
use mcp_client::install_link;
use serde_json::{Value as Json, json};

use self::dialog::Offer;
use super::add::report_moved;
use super::candidate::{SecretHandling, invalid_name, save};
use crate::config::servers::ServersFile;
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::download::OnConflict;
use crate::mcp::advice::test;
use crate::mcp::already_reported;
use crate::output::GOOD;
use crate::prompt::Prompt;
use crate::session::Session;

const MAX_RENAMES: usize = 5;

const OFFER: Offer<'_> = Offer {
    heading: "This link installs an MCP server.",
    advice: "\nInstall it only if you trust the source of the link.",
    question: "Install it?",
    declined: "Nothing was installed.",
};

/// Install a server from an `agent://mcp/install` link
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows the whole configuration and asks for confirmation before installing. An existing server is \
never overwritten.

Examples:
  agent mcp install 'agent://mcp/install?name=docs&config=...'
  agent mcp install --name team-docs 'agent://mcp/install?...'")]
pub(crate) struct Args {
    /// Link, in quotes
    link: String,
    /// Server name [default: the link's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Show the configuration and install without asking
    #[arg(long, short)]
    yes: bool,
    /// Print what would be installed
    #[arg(long, hide = true, conflicts_with = "yes")]
    preview: bool,
    /// Wait for Enter at the end: the window of a link that was opened closes with the program
    #[arg(long, hide = true)]
    wait: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let done = install(args, session);
    let Some(person) = Prompt::find(&session.output).filter(|_| args.wait) else { return done };
    let exit = session.output.finish(done);
    person.ask("Press Enter to close this window.")?;
    if exit == Exit::Done { Ok(()) } else { Err(already_reported(exit)) }
}

fn install(args: &Args, session: &Session) -> Result {
    if let Some(name) = args.name.as_ref().filter(|name| !valid_name(name)) {
        return Err(Diagnostic { exit: Exit::Usage, ..invalid_name(name) });
    }
    let link = install_link::parse(&args.link).map_err(|error| {
        let message = format!("the install link was rejected: {}", error.code());
        let diagnostic = Diagnostic::configuration(message).because(&error);
        match error {
            install_link::LinkError::NotALink => diagnostic.hint("quote the whole link"),
            _ => diagnostic.hint("ask the source of the link for a new one"),
        }
    })?;
    let home = session.home()?;
    let prompt = Prompt::find(&session.output).filter(|_| !args.yes);
    let file = ServersFile::load(&home.config())?;
    let name = args.name.as_ref().unwrap_or(&link.name);
    let name = if args.preview {
        name.clone()
    } else if let Some(name) = free_name(name, &file, prompt.as_ref())? {
        name
    } else {
        session.output.note(OFFER.declined);
        return Ok(());
    };
    let scope = crate::mcp::scope(session, &home)?;
    dangers::refuse_files(&link.config)?;
    let entry = Json::Object(link.config);
    let servers = [dialog::checked(&name, entry, Vec::new(), &scope, &file)?];
    if args.preview {
        return session.output.json(&dialog::preview(&servers, &scope, &file));
    }
    let [server] = &servers;
    if !OFFER.is_accepted(server, &scope, args.yes, session)? {
        return Ok(());
    }
    let saved = save(session, &servers, SecretHandling::Move, OnConflict::Keep)?;
    if session.output.is_json() {
        let installed = json!({ "name": name, "kind": server.kind(), "notes": server.notes });
        return session.output.json(&saved.json("installed", &installed));
    }
    report_moved(session, &saved);
    session.output.text(format!("{GOOD}Installed{GOOD:#} {name}.\n"))?;
    let file = saved.file.display();
    session.output.note(format!("Saved to {file}. Test it with `{}`.", test(&name)));
    Ok(())
}

/// The name, or another one if it is taken; `None` if the person gives up.
fn free_name(name: &str, file: &ServersFile, prompt: Option<&Prompt>) -> Result<Option<String>> {
    if file.entry(name).is_none() {
        return Ok(Some(name.to_owned()));
    }
    let Some(prompt) = prompt else {
        let message = format!("server `{name}` exists already and is not overwritten");
        return Err(Diagnostic::failed(message).hint("choose another name with `--name`"));
    };
    let mut question = format!(
        "Server `{name}` exists already and is not overwritten.\nInstall it under another name \
         (empty to cancel):"
    );
    for _ in 0..MAX_RENAMES {
        let answer = prompt.ask(&question)?.filter(|answer| !answer.is_empty());
        let Some(answer) = answer else { return Ok(None) };
        if !valid_name(&answer) {
            "A name has 1 to 64 letters, digits, dots, underscores and hyphens. Another name \
             (empty to cancel):"
                .clone_into(&mut question);
        } else if file.entry(&answer).is_some() {
            question = format!("Server `{answer}` exists too. Another name (empty to cancel):");
        } else {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}
