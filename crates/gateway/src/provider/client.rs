//! Pooled connections to upstreams, with TLS.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// Connections that wait for their next request: how many to one upstream, and how long.
pub(super) const MAX_IDLE: usize = 1024;
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// What one connection reads ahead at most. The header of an answer must fit.
pub(super) const MAX_READ_AHEAD: usize = 64 * 1024;

/// Pooled connections to one upstream.
pub(crate) type Client = Pool<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Connections that trust the machine's authorities and those given.
pub(crate) fn open<B>(
    authorities: &[CertificateDer<'static>],
    connect_timeout: Duration,
) -> Result<Pool<HttpsConnector<HttpConnector>, B>, rustls::Error>
where
    B: hyper::body::Body<Data = Bytes> + Send,
{
    let connector = connector(authorities, connect_timeout)?;
    Ok(Pool::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE)
        .http1_max_buf_size(MAX_READ_AHEAD)
        .set_host(true)
        .build(connector))
}

/// What makes connections, with TLS or without.
pub(super) fn connector(
    authorities: &[CertificateDer<'static>],
    connect_timeout: Duration,
) -> Result<HttpsConnector<HttpConnector>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(authorities))
        .with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_timeout));
    tcp.set_keepalive(Some(Duration::from_mins(1)));
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp))
}

/// The authorities of the machine, and those of a file.
fn roots(extra: &[CertificateDer<'static>]) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(extra.iter().cloned());
    roots
}
