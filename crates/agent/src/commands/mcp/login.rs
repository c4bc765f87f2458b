//! `agent mcp login`: a person signs in to a server.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::config::{Auth, Configured, Endpoint, Problem, ServerEntry};
use mcp_client::oauth::{Account, DeviceCodeDisplay, LoginFrontend, LoginOptions, SignInStatus};
use mcp_client::registry::ServerTools;
use mcp_client::{Client, Error};
use serde_json::json;
use task_loop::untrusted::printable;

use super::status::{expiry, now, standing_json};
use crate::diagnostic::{Diagnostic, Result};
use crate::mcp::advice::sign_in::login;
use crate::mcp::browser::TerminalSignIn;
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, is_alone, problem_line};
use crate::output::GOOD;
use crate::session::Session;
use crate::table::counted;

/// The keys of the client identity.
const WHO: &[&str] = &["oauth.client_id", "oauth.client_secret"];
const MAX_TIMEOUT_SECONDS: u64 = 60 * 60;

/// Sign in to a server with `auth: oauth`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Opens the browser. Over SSH, open the printed URL anywhere and paste the URL you are redirected \
to; or use --device, if the authorization server supports it, and enter a short code on any \
device. A failed sign-in keeps the previous one.

Servers with a non-interactive `oauth.flow` sign in without a browser.

With --json, the URL, or the page and the code, are printed as an object to stderr; no browser \
opens and nothing is read.

Exit codes: 0 signed in, 3 invalid configuration, 4 the sign-in failed, was cancelled or timed \
out, 5 a server failed, 130 Ctrl-C.

Examples:
  agent mcp login docs
  agent mcp login docs --scope \"read write\"
  agent mcp login docs --no-browser
  agent mcp login docs --device")]
pub(crate) struct Args {
    /// Server name
    server: String,
    /// Scopes to request [default: from the configuration or the server]
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// Print the URL instead of opening a browser
    #[arg(long)]
    no_browser: bool,
    /// The dashboard drives this login
    #[arg(long, hide = true)]
    dashboard: bool,
    /// Sign in with a code that you enter on any device
    #[arg(long, conflicts_with = "no_browser")]
    device: bool,
    /// Seconds to wait for the sign-in [default: `oauth.timeout`]
    #[arg(long, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=MAX_TIMEOUT_SECONDS))]
    timeout: Option<u64>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let fleet = McpServers::load(session, MessageSink::Notes)?;
    let entry = entry(fleet.servers.find(&args.server)?, args, &fleet)?;
    fleet.servers.report_problems_of(&entry.name, session);
    refuse_unset(&fleet, &entry.name)?;
    if is_alone(&entry) {
        let name = printable(&entry.name);
        session.output.note(format!("{name} signs in automatically."));
    }
    let browser = TerminalSignIn::new(session, &fleet.reporter, !args.no_browser);
    let host = Arc::new(fleet.host.clone());
    let account = Account::of(&entry, &host).map_err(|error| fleet.problem(&entry, &error))?;
    let account = account.ok_or_else(|| Diagnostic::configuration("nothing to sign in to"))?;
    let scope = args.scope.as_deref().map(str::trim).filter(|scope| !scope.is_empty());
    let (standing, seen) = fleet.run(Vec::new(), async |client| {
        let driver =
            if args.dashboard { LoginFrontend::Dashboard } else { LoginFrontend::Terminal };
        let device = args.device.then_some(&browser as &dyn DeviceCodeDisplay);
        let options = LoginOptions { driver, scope, device };
        fleet.reporter.waiting_for(format!("asking {} how to sign in", printable(&entry.name)));
        let done = account.login(&browser, options).await;
        fleet.reporter.done_waiting();
        done.map_err(|error| fleet.connection_failure(&entry, &error))?;
        let standing = fleet.standing(&entry).unwrap_or_else(|| account.status());
        if standing.granted.is_none() {
            return Err(Diagnostic::sign_in("the sign-in ended without tokens")
                .hint(format!("try again: {}", login(&entry.name))));
        }
        fleet.reporter.waiting_for(format!("connecting {}", printable(&entry.name)));
        Ok((standing, count_tools(client, &entry).await))
    })?;
    show(&entry, &standing, &seen, session)?;
    seen.map(drop).map_err(|error| {
        let mut diagnostic = fleet.connection_failure(&entry, &error);
        let succeeded = "the sign-in succeeded, but the server cannot be used";
        diagnostic.causes.insert(0, succeeded.to_owned());
        diagnostic
    })
}

fn entry(configured: &Configured, args: &Args, fleet: &McpServers) -> Result<ServerEntry> {
    let mut entry = configured.entry.clone();
    let name = printable(&entry.name);
    let place = format!("{}:{}", fleet.servers.path.display(), configured.line);
    let message = format!("server `{name}` does not sign in with OAuth");
    let Endpoint::Http(http) = &mut entry.endpoint else {
        return Err(Diagnostic::configuration(message)
            .hint(format!("it is a local program ({place}); only servers with a `url` sign in")));
    };
    let Auth::OAuth(options) = &mut http.auth else {
        return Err(Diagnostic::configuration(message)
            .hint(format!("set `auth: oauth` under `{name}:` ({place}), then sign in")));
    };
    options.timeout = args.timeout.map(Duration::from_secs).or(options.timeout);
    Ok(entry)
}

fn refuse_unset(fleet: &McpServers, name: &str) -> Result {
    let decides = |problem: &&Problem| {
        problem.key.as_deref().is_some_and(|key| WHO.contains(&key))
            && problem.message.contains("is not set")
    };
    let Some(problem) = fleet.servers.problems_of(name).find(decides) else { return Ok(()) };
    let message = format!("cannot sign in to server `{}` as configured", printable(name));
    Err(Diagnostic::configuration(message).cause(problem_line(&fleet.servers.path, problem)))
}

async fn count_tools(client: &Client, entry: &ServerEntry) -> Result<usize, Error> {
    let conversation = client.connect_unsupervised(entry, &|_| {}).await?;
    let listed = conversation.list_tools().await;
    conversation.close().await;
    let part = ServerTools::build(&entry.name, &entry.tools, entry.trust, &listed?);
    Ok(part.len())
}

fn show(
    entry: &ServerEntry,
    standing: &SignInStatus,
    seen: &Result<usize, Error>,
    session: &Session,
) -> Result {
    if session.output.is_json() {
        let mut value = standing_json(entry, standing, now(session));
        value["connected"] = json!(seen.is_ok());
        value["tools"] = json!(seen.as_ref().ok());
        return session.output.json(&value);
    }
    let name = printable(&entry.name);
    let tools =
        seen.as_ref().map_or(String::new(), |count| format!("; {}", counted(*count, "tool")));
    session.output.text(format!("{GOOD}Signed in{GOOD:#} to {name}{tools}\n"))?;
    if let Some(granted) = &standing.granted {
        session.output.note(format!("Expires: {}.", expiry(granted, now(session))));
    }
    Ok(())
}
