//! The page of `agent metrics view`: served on loopback, to clients that know its address,
//! until it is interrupted.

mod data;
mod server;

use std::io;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use axum::Router;
use pages::Frame;
use serde_json::json;
use tokio::net::TcpListener;
use usage_metrics::store::StoreFolder;
use uuid::Uuid;

use self::data::Reading;
use self::server::Site;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::output::Output;
use crate::runtime;
use crate::session::Session;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrowserLaunch {
    Browser,
    Print,
}

pub(crate) fn run(
    folder: StoreFolder,
    port: u16,
    opening: BrowserLaunch,
    session: &Session,
) -> Result {
    // A request may still be waiting for a busy store, but its response is no longer needed.
    runtime::run(show(folder, port, opening, session))
}

async fn show(folder: StoreFolder, port: u16, opening: BrowserLaunch, session: &Session) -> Result {
    let listener = listen(port).await?;
    let port = listener.local_addr().map_err(|error| cannot_listen(port, &error))?.port();
    // Listen for signals before the address is printed: a script may stop us at once.
    let stop = stop_signal()?;
    let site = Site {
        // The address is the only key to the page, so it must not be guessed.
        token: Uuid::new_v4().simple().to_string(),
        port,
        reading: Arc::new(Reading { folder, clock: Arc::clone(&session.clock) }),
    };
    let address = site.address();
    print_address(&address, &session.output)?;
    session.output.note("The page is served on this machine only. Press Ctrl-C to stop.");

    let mut served = std::pin::pin!(server::serve(listener, site, stop));
    let result = tokio::select! {
        result = &mut served => result,
        () = open(&address, opening, &session.output) => served.await,
    };
    result.or_failed("the page server failed")
}

pub(crate) fn print_address(address: &str, output: &Output) -> Result {
    if output.is_json() {
        output.json_line(&json!({ "address": address }))
    } else {
        output.text(format!("{address}\n"))
    }
}

pub(crate) async fn listen(port: u16) -> Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    listener.map_err(|error| cannot_listen(port, &error))
}

fn cannot_listen(port: u16, error: &io::Error) -> Diagnostic {
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => Some("another program uses this port"),
        io::ErrorKind::PermissionDenied => Some("ports below 1024 are reserved"),
        _ => None,
    };
    Diagnostic::failed(format!("cannot listen on 127.0.0.1:{port}"))
        .because(error)
        .hints(why.map(|why| format!("{why}; omit `--port` to use a free one")))
}

/// The same page below a path of the dashboard, in its frame.
pub(crate) fn routes(below: &str, frame: Frame, folder: StoreFolder, session: &Session) -> Router {
    let reading = Reading { folder, clock: Arc::clone(&session.clock) };
    server::routes(below, frame, Arc::new(reading))
}

/// Completes on SIGINT or SIGTERM.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).or_failed("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).or_failed("cannot listen for Ctrl-C")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Opens the browser if requested. Failures are only noted: the address is printed.
pub(crate) async fn open(address: &str, opening: BrowserLaunch, output: &Output) {
    if opening == BrowserLaunch::Print {
        return;
    }
    let mut command = Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Some openers return at once, others with the browser's exit.
    let opened = tokio::task::spawn_blocking(move || command.status()).await;
    if !matches!(opened, Ok(Ok(status)) if status.success()) {
        output.note("Cannot open a browser; open the address yourself.");
    }
}
