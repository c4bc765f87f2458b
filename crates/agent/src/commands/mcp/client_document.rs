//! `agent mcp client-document`: the document that identifies us to authorization servers.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_client::config::fault_of_client_document;
use mcp_client::oauth::client_document::{RULES, build};
use serde_json::json;
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::mcp::Servers;
use crate::mcp::client_document::address_for_all;
use crate::prompt::Prompt;
use crate::session::Session;

/// Create a client ID document to host yourself
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The URL is --url, else `mcp.client_metadata_url` in config.yaml, else the built-in one.

Examples:
  agent mcp client-document --url https://example.com/oauth/agent.json
  agent mcp client-document --name 'Our agent' --output public/agent.json")]
pub(crate) struct Args {
    /// URL that will serve the document
    #[arg(long)]
    url: Option<String>,
    /// Client name on consent pages
    #[arg(long, default_value = "agent")]
    name: String,
    /// Home page of the client
    #[arg(long)]
    uri: Option<String>,
    /// Output file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let url = match &args.url {
        Some(url) => url.clone(),
        None => configured(session)?,
    };
    if let Some(why) = fault_of_client_document(&url) {
        let message = format!("invalid URL of a client document: `{}`", printable(&url));
        return Err(Diagnostic::usage(format!("{message}: {why}"))
            .hint("use a URL like https://example.com/oauth/agent.json"));
    }
    if args.name.trim().is_empty() {
        return Err(Diagnostic::usage("`--name` must not be empty"));
    }
    if let Some(uri) = args.uri.as_deref().filter(|uri| !is_web(uri)) {
        let message = format!("`--uri` must be the URL of a page, found `{}`", printable(uri));
        return Err(Diagnostic::usage(message));
    }
    let document = build(&url, args.name.trim(), args.uri.as_deref());
    match &args.output {
        None => session.output.json(&document)?,
        Some(path) => {
            if !may_write(path, args, session)? {
                session.output.note("Nothing was written.");
                return Ok(());
            }
            fs::write(path, format!("{document:#}\n")).or_cannot("write", path)?;
            if session.output.is_json() {
                let written = json!({ "file": path.to_string_lossy(), "url": url, "rules": RULES });
                return session.output.json(&written);
            }
            session.output.note(format!("wrote {}", path.display()));
        }
    }
    // A program needs only the document.
    if !session.output.is_json() {
        let mut lines = format!("Serve it at {url}, and follow these four rules:\n");
        for (index, rule) in RULES.iter().enumerate() {
            lines.push_str(&format!("  {}. {rule}\n", index + 1));
        }
        session.output.note(lines + "Check them with `agent mcp doctor <server>`.");
    }
    Ok(())
}

/// Whether the path is free, or a person agrees to overwrite it.
fn may_write(path: &Path, args: &Args, session: &Session) -> Result<bool> {
    if args.force || fs::symlink_metadata(path).is_err() {
        return Ok(true);
    }
    let file = path.display();
    match Prompt::find(&session.output) {
        Some(prompt) => prompt.confirm(&format!("Overwrite {file}?")),
        None => Err(Diagnostic::failed(format!("{file} exists already"))
            .hint("overwrite it with `--force`")),
    }
}

fn configured(session: &Session) -> Result<String> {
    let servers = Servers::load(session)?;
    servers.check_file()?;
    if let Some(url) = address_for_all(&servers.parsed) {
        return Ok(url.to_owned());
    }
    let is_ours = |key: &str| key.starts_with("mcp.");
    let mut problems = servers.parsed.problems.iter();
    if let Some(problem) = problems.find(|problem| problem.key.as_deref().is_some_and(is_ours)) {
        return Err(Diagnostic::configuration(format!("{}:{problem}", servers.path.display())));
    }
    Err(Diagnostic::usage("the URL of the document is missing")
        .hint("pass it with `--url`, or set `mcp.client_metadata_url` in config.yaml"))
}

fn is_web(address: &str) -> bool {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !address.contains(char::is_whitespace))
}
