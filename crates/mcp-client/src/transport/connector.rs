//! Opens connections: direct or through a proxy, plain or with TLS.
//!
//! On Linux every read is acknowledged at once. A server that writes small pieces without
//! `TCP_NODELAY` otherwise waits for our delayed acknowledgement, 40 ms per call.

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
use tokio_util::either::Either;
use tower_service::Service;

use crate::url::{bare_host, is_loopback};

type BoxError = Box<dyn StdError + Send + Sync>;

#[derive(Debug, Clone)]
pub(crate) struct ProxySettings(Arc<Matcher>);

impl ProxySettings {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower case.
    pub(crate) fn from_environment(environment: &BTreeMap<String, String>) -> Self {
        let find = |name: &str| {
            let either = environment.get(&name.to_lowercase()).or_else(|| environment.get(name));
            either.map(String::as_str).unwrap_or_default().trim().to_owned()
        };
        // `*.host` is a common spelling of `.host`.
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

    /// Loopback is never proxied.
    pub(crate) fn for_url(&self, address: &Uri) -> Option<Intercept> {
        if is_loopback(bare_host(address)) {
            return None;
        }
        self.0.intercept(address)
    }

    pub(crate) fn credentials(&self, address: &Uri) -> Option<HeaderValue> {
        if address.scheme_str() == Some("https") {
            return None;
        }
        self.for_url(address)?.basic_auth().cloned()
    }
}

/// Adds the default port: SOCKS would assume 443.
fn with_port(address: &Uri) -> Result<Uri, BoxError> {
    if address.port().is_some() {
        return Ok(address.clone());
    }
    let port = if address.scheme_str() == Some("https") { 443 } else { 80 };
    let mut parts = address.clone().into_parts();
    parts.authority = Some(format!("{}:{port}", address.host().unwrap_or_default()).parse()?);
    Ok(Uri::from_parts(parts)?)
}

#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    tls: Arc<rustls::ClientConfig>,
    proxies: ProxySettings,
}

impl Connector {
    pub(crate) fn new(tls: Arc<rustls::ClientConfig>, proxies: ProxySettings) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(std::time::Duration::from_mins(1)));
        Self { tcp, tls, proxies }
    }

    async fn connect(mut self, address: Uri) -> Result<TokioIo<HttpStream>, BoxError> {
        let secure = address.scheme_str() == Some("https");
        let mut proxied = false;
        let tcp = match self.proxies.for_url(&address) {
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
                    return Err(format!("unsupported proxy scheme `{scheme}`").into());
                }
            },
        };
        let tcp = tcp.into_inner();
        let stream = if secure {
            let name = ServerName::try_from(bare_host(&address).to_owned())?;
            let tls = TlsConnector::from(self.tls).connect(name, tcp).await?;
            Either::Right(Box::new(tls))
        } else {
            Either::Left(tcp)
        };
        Ok(TokioIo::new(HttpStream { stream, proxied }))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<HttpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        Box::pin(self.clone().connect(address))
    }
}

/// A connection whose reads are acknowledged without delay.
#[derive(Debug)]
pub(crate) struct HttpStream {
    stream: Either<TcpStream, Box<TlsStream<TcpStream>>>,
    proxied: bool,
}

impl Connection for HttpStream {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.proxied)
    }
}

type Polled<T> = Poll<io::Result<T>>;

impl AsyncRead for HttpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Polled<()> {
        let read = Pin::new(&mut self.stream).poll_read(context, room);
        // The kernel resets the option, so it is set after each read.
        #[cfg(target_os = "linux")]
        if read.is_ready() {
            let tcp = match &self.stream {
                Either::Left(tcp) => tcp,
                Either::Right(tls) => tls.get_ref().0,
            };
            let _ = rustix::net::sockopt::set_tcp_quickack(tcp, true);
        }
        read
    }
}

impl AsyncWrite for HttpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Polled<usize> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Polled<usize> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled<()> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled<()> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
