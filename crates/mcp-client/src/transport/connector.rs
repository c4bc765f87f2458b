//! Makes connections: through a proxy or straight, with TLS or without.
//!
//! On Linux every read is acknowledged at once. A server that writes small pieces without
//! `TCP_NODELAY` otherwise waits for our delayed acknowledgement, forty milliseconds a call.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::url::{bare_host, is_loopback};

type BoxError = Box<dyn StdError + Send + Sync>;

/// Which proxy stands between us and an address, by the usual variables.
#[derive(Debug, Clone)]
pub(crate) struct Proxies(Arc<Matcher>);

impl Proxies {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case.
    pub(crate) fn of(environment: &BTreeMap<String, String>) -> Self {
        let find = |name: &str| {
            let either = environment.get(&name.to_lowercase()).or_else(|| environment.get(name));
            either.map(String::as_str).unwrap_or_default().trim().to_owned()
        };
        // `*.host` is written by many and means what `.host` means.
        let spared: Vec<String> = find("NO_PROXY")
            .split(',')
            .map(str::trim)
            .map(|host| host.strip_prefix("*.").map_or(host.to_owned(), |rest| format!(".{rest}")))
            .collect();
        let matcher = Matcher::builder()
            .all(find("ALL_PROXY"))
            .http(find("HTTP_PROXY"))
            .https(find("HTTPS_PROXY"))
            .no(spared.join(","))
            .build();
        Self(Arc::new(matcher))
    }

    /// The proxy for this address. Loopback is never proxied.
    pub(crate) fn of_address(&self, address: &Uri) -> Option<Intercept> {
        if is_loopback(bare_host(address)) {
            return None;
        }
        self.0.intercept(address)
    }

    /// What a plain request through its proxy must carry.
    pub(crate) fn credentials(&self, address: &Uri) -> Option<HeaderValue> {
        if address.scheme_str() == Some("https") {
            return None;
        }
        self.of_address(address)?.basic_auth().cloned()
    }
}

/// The address with its port written out: what is missing, SOCKS takes for 443.
fn with_port(address: &Uri) -> Result<Uri, BoxError> {
    if address.port().is_some() {
        return Ok(address.clone());
    }
    let port = if address.scheme_str() == Some("https") { 443 } else { 80 };
    let mut parts = address.clone().into_parts();
    parts.authority = Some(format!("{}:{port}", address.host().unwrap_or_default()).parse()?);
    Ok(Uri::from_parts(parts)?)
}

/// Makes the connections of one server.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    tls: Arc<rustls::ClientConfig>,
    proxies: Proxies,
}

impl Connector {
    pub(crate) fn new(tls: Arc<rustls::ClientConfig>, proxies: Proxies) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(std::time::Duration::from_mins(1)));
        Self { tcp, tls, proxies }
    }

    async fn connect(mut self, address: Uri) -> Result<TokioIo<Wire>, BoxError> {
        let secure = address.scheme_str() == Some("https");
        let mut proxied = false;
        let tcp = match self.proxies.of_address(&address) {
            None => self.tcp.call(address.clone()).await?,
            Some(proxy) => match proxy.uri().scheme_str() {
                Some("socks5" | "socks5h") => {
                    let mut socks = SocksV5::new(proxy.uri().clone(), self.tcp);
                    if let Some((user, password)) = proxy.raw_auth() {
                        socks = socks.with_auth(user.to_owned(), password.to_owned());
                    }
                    socks.call(with_port(&address)?).await?
                }
                Some("http") if secure => {
                    let mut tunnel = Tunnel::new(proxy.uri().clone(), self.tcp);
                    if let Some(credentials) = proxy.basic_auth() {
                        tunnel = tunnel.with_auth(credentials.clone());
                    }
                    tunnel.call(address.clone()).await?
                }
                Some("http") => {
                    proxied = true;
                    self.tcp.call(proxy.uri().clone()).await?
                }
                scheme => {
                    let scheme = scheme.unwrap_or_default();
                    return Err(format!("a proxy of kind `{scheme}` is not supported").into());
                }
            },
        };
        let tcp = Prompt(tcp.into_inner());
        let stream = if secure {
            let name = ServerName::try_from(bare_host(&address).to_owned())?;
            let tls = TlsConnector::from(self.tls).connect(name, tcp).await?;
            Stream::Tls(Box::new(tls))
        } else {
            Stream::Plain(tcp)
        };
        Ok(TokioIo::new(Wire { stream, proxied }))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        Box::pin(self.clone().connect(address))
    }
}

/// A connection that is ready for HTTP.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: Stream,
    proxied: bool,
}

#[derive(Debug)]
enum Stream {
    Plain(Prompt),
    Tls(Box<TlsStream<Prompt>>),
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.proxied)
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, room),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, room),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// A TCP stream that acknowledges what it reads without delay.
#[derive(Debug)]
struct Prompt(TcpStream);

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.0).poll_read(context, room);
        // The kernel falls back to delaying by itself, so it is told each time.
        #[cfg(target_os = "linux")]
        if read.is_ready() {
            let _ = rustix::net::sockopt::set_tcp_quickack(&self.0, true);
        }
        read
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxied(spared: &str, address: &str) -> bool {
        let variables = [("ALL_PROXY", "http://proxy.test:3128"), ("NO_PROXY", spared)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Proxies::of(&variables.into()).of_address(&address.parse().unwrap()).is_some()
    }

    #[test]
    fn hosts_are_spared_by_name_suffix_star_and_network() {
        for (spared, address, through) in [
            ("", "http://mcp.test/", true),
            ("mcp.test", "http://mcp.test/", false),
            ("mcp.test", "https://MCP.test:8443/", false),
            ("mcp.test", "http://a.mcp.test/", false),
            ("mcp.test", "http://other-mcp.test/", true),
            (".mcp.test", "http://a.mcp.test/", false),
            (" x.test , *.mcp.test ", "http://a.b.mcp.test/", false),
            ("*.mcp.test", "http://amcp.test/", true),
            ("*", "http://mcp.test/", false),
            ("192.0.2.7", "http://192.0.2.7/", false),
            ("192.0.2.0/24", "http://192.0.2.200:81/", false),
            ("192.0.2.0/24", "http://192.0.3.1/", true),
            ("2001:db8::/32", "http://[2001:db8::1]/", false),
            ("", "http://localhost:3000/", false),
            ("", "http://a.localhost/", false),
            ("", "http://127.0.0.9/", false),
            ("", "http://[::1]:80/", false),
        ] {
            assert_eq!(proxied(spared, address), through, "NO_PROXY={spared} {address}");
        }
    }
}
