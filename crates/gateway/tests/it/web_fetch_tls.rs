//! Pages by https: whose certificates are believed, and what a redirect may give up.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use crate::site::{HOST, Names, PUBLIC, Setup, Site, elsewhere, ok};

/// A site that speaks TLS as `pages.test`.
struct Secure {
    address: SocketAddr,
    authority: String,
    /// The names that were asked for in the clear.
    names: Arc<Mutex<Vec<Option<String>>>>,
}

impl Secure {
    fn start(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![HOST.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .unwrap();
        let (config, listener) = (Arc::new(config), TcpListener::bind((PUBLIC, 0)).unwrap());
        let address = listener.local_addr().unwrap();
        let names: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
        let seen = names.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let tls = ServerConnection::new(config.clone()).unwrap();
                let mut stream = StreamOwned::new(tls, stream.unwrap());
                let mut line = String::new();
                // A client that rejects the certificate disconnects first.
                if BufReader::new(&mut stream).read_line(&mut line).is_err() {
                    continue;
                }
                seen.lock().unwrap().push(stream.conn.server_name().map(str::to_owned));
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                let _ = stream.write_all(&answer(&path));
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        Self { address, authority: authority.pem(), names }
    }

    fn url(&self, path: &str) -> String {
        format!("https://{HOST}:{}{path}", self.address.port())
    }
}

/// A service that may read from these ports of `pages.test`.
fn setup(secure: &Secure, other: Option<&Site>, trust: bool, fetch: &str) -> Setup {
    let folder: Arc<TempDir> = Arc::new(tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("ca.pem"), &secure.authority).unwrap();
    let mut ports = vec![secure.address.port()];
    ports.extend(other.map(|site| site.address.port()));
    let allowed: Vec<String> = ports.iter().map(|port| format!("\"{HOST}:{port}\"")).collect();
    let text = format!(
        "listen: 127.0.0.1:0\ndatabase: {{url: \"sqlite:g.sqlite3\", durability: process}}\n\
         fetch:\n  robots: false\n  allow_private: [{}]\n{}{fetch}",
        allowed.join(", "),
        if trust { "  tls_ca_file: ca.pem\n" } else { "" },
    );
    Setup::start(folder, &text, Names::new(&[(HOST, &[&[PUBLIC]])]))
}

#[test]
fn certificates_are_verified_for_the_host_name() {
    let secure = Secure::start(|_| ok("text/plain", b"secret words"));
    let trusting = setup(&secure, None, true, "");
    assert_eq!(trusting.fetch(&secure.url("/")).good()["content"], "secret words");
    assert_eq!(*secure.names.lock().unwrap(), [Some(HOST.to_owned())]);
    let doubting = setup(&secure, None, false, "");
    let (status, code, message) = doubting.failed(&secure.url("/"));
    assert_eq!((status, code.as_str()), (503, "upstream_unavailable"));
    assert_eq!(message, "TLS handshake failed; check the certificate of the host");
}

#[test]
fn a_redirect_to_http_is_followed_only_if_configured() {
    let plain = Site::of(&[("/a", "text/plain", "open words")]);
    let target = plain.url("/a");
    let secure = Secure::start(move |_| elsewhere(&target));
    let strict = setup(&secure, Some(&plain), true, "");
    let (status, code, message) = strict.failed(&secure.url("/"));
    assert_eq!((status, code.as_str()), (403, "target_refused"));
    assert_eq!(message, "the page redirects from https to http, which is not allowed");
    assert!(plain.asked().is_empty());
    let lenient = setup(&secure, Some(&plain), true, "  allow_downgrade: true\n");
    assert_eq!(lenient.fetch(&secure.url("/")).good()["content"], "open words");
}
