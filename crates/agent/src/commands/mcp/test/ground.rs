//! Checks below the protocol of a remote server: certificate files, DNS, TCP.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use axum::http::Uri;
use mcp_client::Error;
use mcp_client::config::{HttpEndpoint, Text, Verify};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::steps::Steps;
use crate::session::Session;

/// Maximum number of named addresses of a host.
const MAX_NAMED: usize = 4;
const PROXY_VARIABLES: &[&str] = &["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"];

/// Every file the entry names, with its purpose.
pub(crate) fn named_files(endpoint: &HttpEndpoint) -> Vec<(&'static str, &Text)> {
    let mut files = Vec::new();
    if let Verify::Bundle(path) = &endpoint.verify {
        files.push(("the CA bundle", path));
    }
    if let Some(cert) = &endpoint.client_cert {
        files.push(("the client certificate", &cert.cert));
        files.extend(cert.key.as_ref().map(|key| ("the client key", key)));
    }
    files
}

/// Checks whether the files can be read. The handshake validates their content.
pub(super) fn files(endpoint: &HttpEndpoint, steps: &Steps) -> Result<(), Error> {
    for (what, text) in named_files(endpoint) {
        let path = PathBuf::from(text.value());
        let opened = File::open(&path).and_then(|file| file.metadata());
        let reason = match opened {
            Ok(file) if file.is_file() => {
                steps.ok("files", &format!("{what} {}", text.shown()));
                continue;
            }
            Ok(_) => "is not a file".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        let error = Error::File { what, path: text.shown().into(), reason };
        steps.failed("files", &error.to_string());
        return Err(error);
    }
    Ok(())
}

/// Resolves the name and opens a connection, as separate steps. A proxy does both for us.
pub(super) async fn reach(
    endpoint: &HttpEndpoint,
    within: Duration,
    session: &Session,
    steps: &Steps,
) -> Result<(), Error> {
    let Ok(address) = endpoint.url.value().parse::<Uri>() else { return Ok(()) };
    let Some(host) = address.host() else { return Ok(()) };
    let secure = address.scheme_str() == Some("https");
    let port = address.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Some(variable) = proxy(session)
        && !is_loopback(host)
    {
        let detail = format!("{variable} is set: the proxy resolves names and connects");
        steps.note("proxy", &detail);
        return Ok(());
    }
    let found = resolve(host, port, within, steps);
    let addresses = found.await.map_err(|reason| unreachable(endpoint, "DNS", &reason, steps))?;
    connect(&addresses, within, steps)
        .await
        .map_err(|reason| unreachable(endpoint, "TCP", &reason, steps))
}

fn unreachable(endpoint: &HttpEndpoint, step: &str, reason: &str, steps: &Steps) -> Error {
    steps.failed(step, reason);
    Error::Unreachable { url: endpoint.url.shown().to_owned(), reason: reason.to_owned() }
}

async fn resolve(
    host: &str,
    port: u16,
    within: Duration,
    steps: &Steps,
) -> Result<Vec<SocketAddr>, String> {
    let began = Instant::now();
    let addresses: Vec<SocketAddr> = match timeout(within, lookup_host((host, port))).await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(error)) => return Err(format!("`{host}` has no address: {error}")),
        Err(_) => return Err(format!("`{host}` was not resolved within {} s", within.as_secs())),
    };
    if addresses.is_empty() {
        return Err(format!("`{host}` has no address"));
    }
    let named: Vec<String> =
        addresses.iter().take(MAX_NAMED).map(|address| address.ip().to_string()).collect();
    steps.ok_since(began, "DNS", &format!("{host} resolves to {}", named.join(", ")));
    Ok(addresses)
}

async fn connect(addresses: &[SocketAddr], within: Duration, steps: &Steps) -> Result<(), String> {
    let began = Instant::now();
    let mut last = String::new();
    for address in addresses {
        let left = within.saturating_sub(began.elapsed());
        match timeout(left, TcpStream::connect(address)).await {
            Ok(Ok(_)) => {
                steps.ok_since(began, "TCP", &format!("connected to {address}"));
                return Ok(());
            }
            Ok(Err(error)) => last = format!("{address}: {error}"),
            Err(_) => {
                return Err(format!("{address}: no connection within {} s", within.as_secs()));
            }
        }
    }
    Err(last)
}

fn proxy(session: &Session) -> Option<&'static str> {
    let all = &session.environment.all;
    let set = |name: &str| all.get(name).is_some_and(|value| !value.is_empty());
    PROXY_VARIABLES.iter().copied().find(|name| set(name) || set(&name.to_lowercase()))
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
