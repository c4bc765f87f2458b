//! Connections for single requests, only to addresses checked by the guard.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::fault::{Fault, Result};
use super::target::Target;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of addresses tried per host.
const MAX_TRIES: usize = 4;

pub(crate) struct Connector {
    tls: TlsConnector,
}

/// A connection, with TLS or without.
pub(crate) type Connection = Box<dyn ByteStream>;

pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

impl Connector {
    /// A connector that trusts the certificate authorities of the machine and of a file.
    pub(crate) fn open(tls_ca_file: Option<&Path>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = tls_ca_file {
            let extra: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect)
                .map_err(|error| format!("`tls_ca_file` is not usable: {error}"))?;
            roots.add_parsable_certificates(extra);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // No state is shared between two requests.
        tls.resumption = rustls::client::Resumption::disabled();
        Ok(Self { tls: TlsConnector::from(Arc::new(tls)) })
    }

    /// Connects to one of these addresses only.
    pub(crate) async fn connect(
        &self,
        target: &Target,
        addresses: &[SocketAddr],
    ) -> Result<Connection> {
        let stream = reach(addresses).await?;
        if !target.is_secure() {
            return Ok(Box::new(stream));
        }
        let name = match target.address {
            Some(address) => ServerName::IpAddress(address.into()),
            None => ServerName::try_from(target.host.clone())
                .map_err(|_| Fault::BadUrl("has a host that is not valid in a certificate"))?,
        };
        match timeout(CONNECT_TIMEOUT, self.tls.connect(name, stream)).await {
            Ok(Ok(stream)) => Ok(Box::new(stream)),
            Ok(Err(error)) => {
                tracing::debug!(%error, "TLS handshake with page failed");
                Err(Fault::Unreachable("TLS handshake failed; check the certificate of the host"))
            }
            Err(_) => Err(Fault::Late("TLS handshake timed out")),
        }
    }
}

async fn reach(addresses: &[SocketAddr]) -> Result<TcpStream> {
    let mut fault = Fault::Unreachable("cannot connect to the host");
    for address in addresses.iter().take(MAX_TRIES) {
        let stream = match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(_)) => continue,
            Err(_) => {
                fault = Fault::Late("the host did not respond");
                continue;
            }
        };
        // A proxy or firewall rule may have redirected the connection.
        if stream.peer_addr().ok().is_some_and(|peer| is_same(peer, *address)) {
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    Err(fault)
}

fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    one.ip().to_canonical() == other.ip().to_canonical() && one.port() == other.port()
}
