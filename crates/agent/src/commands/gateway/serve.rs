//! `agent gateway serve`: runs the member service until a signal stops it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use gateway::config::Config;
use gateway::{Ready, prepare};
use gateway_store::Actor;
use mcp_client::oauth::client_document;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::file::{Location, problems};
use super::migrate;
use crate::commands::parse_worker;
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::log;
use crate::runtime::Signals;
use crate::session::Session;

/// Maximum wait for the model lists of providers.
const MAX_DISCOVERY: Duration = Duration::from_secs(3);

const CLIENT_NAME: &str = "agent";

/// Run the member service
#[derive(Debug, clap::Args)]
#[command(after_help = "\
SIGTERM or Ctrl-C stops the service: running requests have `limits.drain_seconds` to finish; a \
second signal stops it immediately. SIGHUP reloads the configuration, as `agent gateway reload` \
does. The address is printed to stderr when the service is ready, \
or as an object to stdout with --json.

Exit codes: 0 stopped, 3 the configuration is invalid (all problems are listed).

Examples:
  agent gateway serve
  agent gateway serve --migrate
  agent gateway serve --config /etc/agent/gateway.yaml")]
pub(crate) struct Args {
    /// Migrate the database schema first
    #[arg(long)]
    migrate: bool,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result {
    let config = location.load(session)?;
    log::start_service(config.log, session);
    let preparing = async {
        if args.migrate {
            migrate::bring_up_to_date(&config).await?;
        }
        let ready = ready(config).await?;
        ready.service.reloads().read_with(location.source(session, |_| ()));
        let address = address(&ready)?;
        Ok((ready, address))
    };
    serve(preparing, |address| show_address(address, session), Hangup::Reload, session)
}

/// Prepares a service on all cores, and serves until a signal stops it. `start` reports that it
/// is ready.
pub(crate) fn serve<T>(
    preparing: impl Future<Output = Result<(Ready, T)>>,
    start: impl FnOnce(T) -> Result,
    hangup: Hangup,
    session: &Session,
) -> Result {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.or_failed("cannot start the runtime")?;
    let done = runtime.block_on(async {
        let mut signals = Signals::listen();
        let (ready, prepared) = signals.drop_on_signal(Box::pin(preparing)).await?;
        start(prepared)?;
        until_stopped(ready, signals, hangup, session).await
    });
    // Do not wait for remaining tasks.
    runtime.shutdown_background();
    done
}

/// Opens everything, or returns all problems.
pub(crate) async fn ready(config: Config) -> Result<Ready> {
    let prepared = prepare(config, parse_worker::program()).await;
    let ready = prepared.map_err(|found| problems("the service cannot start", &found))?;
    // A service that is reached by https serves the client document of MCP sign-ins.
    if let Some(address) = ready.service.client_document_address() {
        let document = client_document::build(&address, CLIENT_NAME, None);
        ready.service.offer_client_document(document.to_string().into());
    }
    // When the service reports ready, every model that answers is known; silent ones are not waited
    // for.
    let _ = timeout(MAX_DISCOVERY, ready.service.discover()).await;
    Ok(ready)
}

pub(crate) fn address(ready: &Ready) -> Result<SocketAddr> {
    ready.listener.local_addr().or_failed("cannot determine the address of the service")
}

fn show_address(address: SocketAddr, session: &Session) -> Result {
    if session.output.is_json() {
        return session.output.json_line(&json!({
            "event": "ready",
            "address": address.to_string(),
            "base_url": format!("http://{address}/v1"),
        }));
    }
    session.output.need(format!("Listening on http://{address}"));
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hangup {
    Reload,
    /// The terminal was closed.
    Stop,
}

/// Serves until a signal comes, then drains; a second signal skips the draining.
async fn until_stopped(
    ready: Ready,
    mut signals: Signals,
    hangup: Hangup,
    session: &Session,
) -> Result {
    let reloads = ready.service.reloads().clone();
    let by = Actor { name: "signal:SIGHUP".to_owned(), request: None };
    let (stop, stopped) = oneshot::channel::<()>();
    // On the threads of the runtime, not on the main thread.
    let serving = tokio::spawn(gateway::serve(ready, async {
        let _ = stopped.await;
    }));
    let twice = async {
        while signals.next().await == Exit::HungUp && hangup == Hangup::Reload {
            // The service logs the result.
            let _ = reloads.reload(&by).await;
        }
        session.output.note(
            "Stopping: running requests finish first. Press Ctrl-C again to stop immediately.",
        );
        drop(stop);
        signals.next().await
    };
    tokio::select! {
        ended = serving => ended
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .or_failed("the service failed"),
        exit = twice => Err(Diagnostic::interrupted(exit)),
    }
}
