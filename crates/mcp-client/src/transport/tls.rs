//! TLS configuration: certificate verification and client certificates.

mod traditional_key;

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use pkcs8::EncryptedPrivateKeyInfoRef;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, WantsClientCert, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::server::ParsedCertificate;
use rustls::{ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::config::{ClientCert, HttpEndpoint, Text, Verify};
use crate::error::{Error, Result};

const NO_PASSWORD: &str = "is encrypted, but no password is set";
const WRONG_PASSWORD: &str = "cannot be decrypted: wrong password";
const MAX_PEM_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The server of the entry: verified as the entry says.
    Server,
    /// A host that the server names, such as an authorization server: always verified, by the
    /// system's authorities or those of the entry's bundle, and never sent our certificate.
    ThirdParty,
    /// A plain-text service without redirects: no authorities are loaded.
    PlainText,
}

/// Loads every file that the entry names, so that an unreadable one fails before connecting.
pub(crate) fn configure(endpoint: &HttpEndpoint, peer: Peer) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| {
            let (url, reason) = (endpoint.url.shown().to_owned(), error.to_string());
            Error::Tls { url, reason }
        })?;
    let algorithms = provider.signature_verification_algorithms;
    let verifier = |rule| Arc::new(CertificateVerifier { algorithms, rule });
    let builder = match (&endpoint.verify, peer) {
        (_, Peer::PlainText) => builder.with_root_certificates(RootCertStore::empty()),
        (Verify::System, Peer::Server) => builder.with_root_certificates(required_roots(endpoint)?),
        (Verify::System | Verify::Off, Peer::ThirdParty) => {
            builder.with_root_certificates(system_roots())
        }
        (Verify::Bundle(path), _) => {
            let beside = match peer {
                Peer::Server | Peer::PlainText => RootCertStore::empty(),
                Peer::ThirdParty => RootCertStore::clone(&system_roots()),
            };
            let rule = VerifyRule::bundle(path, beside, &provider)?;
            builder.dangerous().with_custom_certificate_verifier(verifier(rule))
        }
        (Verify::Off, Peer::Server) => {
            builder.dangerous().with_custom_certificate_verifier(verifier(VerifyRule::AcceptAny))
        }
    };
    let config = match (&endpoint.client_cert, peer) {
        (Some(cert), Peer::Server) => with_client_certificate(builder, cert)?,
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// The system's authorities, and why some could not be loaded. Loaded once: it takes tens of
/// milliseconds.
fn system() -> &'static (Arc<RootCertStore>, Option<String>) {
    static SYSTEM: OnceLock<(Arc<RootCertStore>, Option<String>)> = OnceLock::new();
    SYSTEM.get_or_init(|| {
        let loaded = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(loaded.certs);
        (Arc::new(roots), loaded.errors.first().map(ToString::to_string))
    })
}

fn system_roots() -> Arc<RootCertStore> {
    Arc::clone(&system().0)
}

/// The system's authorities; an error if there are none to verify the server with.
fn required_roots(endpoint: &HttpEndpoint) -> Result<Arc<RootCertStore>> {
    let (roots, trouble) = system();
    if roots.is_empty() && endpoint.url.value().starts_with("https") {
        let reason = trouble.clone().unwrap_or_else(|| "the system has none".to_owned());
        return Err(Error::NoAuthorities { url: endpoint.url.shown().to_owned(), reason });
    }
    Ok(Arc::clone(roots))
}

fn with_client_certificate(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    cert: &ClientCert,
) -> Result<ClientConfig> {
    let chain = certificates("the client certificate", &cert.cert)?;
    let key_path = cert.key.as_ref().unwrap_or(&cert.cert);
    let key = private_key(key_path, cert.password.as_ref())?;
    builder.with_client_auth_cert(chain, key).map_err(|error| {
        unusable("the client key", key_path, format!("is not usable with the certificate: {error}"))
    })
}

fn certificates(what: &'static str, path: &Text) -> Result<Vec<CertificateDer<'static>>> {
    let pem = read(what, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(unusable(what, path, "contains no PEM certificate")),
        Err(error) => Err(unusable(what, path, format!("is not valid PEM: {error}"))),
    }
}

fn private_key(path: &Text, password: Option<&Text>) -> Result<PrivateKeyDer<'static>> {
    const WHAT: &str = "the client key";
    let pem = read(WHAT, path)?;
    if let Some(encrypted) = encrypted_section(&pem) {
        let password = password.ok_or_else(|| refused(path, NO_PASSWORD))?;
        let info = EncryptedPrivateKeyInfoRef::try_from(&encrypted[..])
            .map_err(|error| unusable(WHAT, path, format!("cannot be read: {error}")))?;
        let key = info.decrypt(password.value()).map_err(|_| refused(path, WRONG_PASSWORD))?;
        return PrivateKeyDer::try_from(key.as_bytes().to_vec())
            .map_err(|reason| unusable(WHAT, path, reason));
    }
    if let Some(key) = traditional_key::find(&pem) {
        let password = password.ok_or_else(|| refused(path, NO_PASSWORD))?;
        let decrypted = traditional_key::decrypt(&key, password.value()).map_err(|what| {
            let hint = "convert it with `openssl pkcs8 -topk8`";
            unusable(WHAT, path, format!("is encrypted with {what}: {hint}"))
        })?;
        return decrypted.ok_or_else(|| refused(path, WRONG_PASSWORD));
    }
    PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|error| unusable(WHAT, path, format!("contains no usable private key: {error}")))
}

/// The DER of an `ENCRYPTED PRIVATE KEY` section, which the PEM reader of rustls skips.
fn encrypted_section(file: &[u8]) -> Option<Vec<u8>> {
    let mut sections = pem::parse_many(file).ok()?.into_iter();
    sections.find(|part| part.tag() == "ENCRYPTED PRIVATE KEY").map(pem::Pem::into_contents)
}

fn read(what: &'static str, path: &Text) -> Result<Vec<u8>> {
    let place = Path::new(path.value());
    let metadata = fs::metadata(place)
        .map_err(|error| unusable(what, path, format!("cannot be read: {error}")))?;
    if !metadata.is_file() {
        return Err(unusable(what, path, "is not a file"));
    }
    if metadata.len() > MAX_PEM_BYTES {
        return Err(unusable(what, path, "is too large to be a certificate or key"));
    }
    fs::read(place).map_err(|error| unusable(what, path, format!("cannot be read: {error}")))
}

fn refused(path: &Text, reason: &'static str) -> Error {
    Error::Password { path: path.shown().into(), reason }
}

fn unusable(what: &'static str, path: &Text, reason: impl Into<String>) -> Error {
    Error::File { what, path: path.shown().into(), reason: reason.into() }
}

/// A custom verifier; signatures are checked as usual.
#[derive(Debug)]
struct CertificateVerifier {
    algorithms: WebPkiSupportedAlgorithms,
    rule: VerifyRule,
}

#[derive(Debug)]
enum VerifyRule {
    AcceptAny,
    /// Accepts certificates signed by the bundle, and the certificates in it: a self-signed server
    /// certificate is both, and webpki rejects it as an end entity. The name must match in either
    /// case.
    Bundle {
        by_authority: Arc<WebPkiServerVerifier>,
        listed: Vec<CertificateDer<'static>>,
    },
}

impl VerifyRule {
    /// The authorities of a file, in addition to `beside`.
    fn bundle(path: &Text, beside: RootCertStore, provider: &Arc<CryptoProvider>) -> Result<Self> {
        const WHAT: &str = "the CA bundle";
        let listed = certificates(WHAT, path)?;
        let mut roots = beside;
        let (added, _) = roots.add_parsable_certificates(listed.iter().cloned());
        if added == 0 {
            return Err(unusable(WHAT, path, "contains no usable certificate"));
        }
        let by_authority =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| unusable(WHAT, path, format!("is not usable: {error}")))?;
        Ok(Self::Bundle { by_authority, listed })
    }
}

/// Whether webpki rejected a CA certificate as an end entity. Its error is only visible in the
/// debug output.
fn is_authority_itself(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidCertificate(rustls::CertificateError::Other(reason))
            if format!("{reason:?}").contains("CaUsedAsEndEntity")
    )
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let VerifyRule::Bundle { by_authority, listed } = &self.rule else {
            return Ok(ServerCertVerified::assertion());
        };
        match by_authority.verify_server_cert(shown, between, name, ocsp, now) {
            Err(error) if is_authority_itself(&error) && listed.iter().any(|one| one == shown) => {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
