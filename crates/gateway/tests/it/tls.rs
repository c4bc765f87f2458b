//! TLS to upstreams: whose certificates are believed, and what is said where one is not.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};

use agent_test_support::upstream::Upstream;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::captured_log;
use crate::fixture::{paid, with_providers};
use crate::raw::Raw;
use crate::support::{Holder, PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
/// The file of the authority, in the folder of the service.
const AUTHORITY: &str = "authority.pem";

/// A certificate authority of the test.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A server with a certificate for this name, good until a year; gives its port.
    fn front(&self, name: &str, year: i32, upstream: &Upstream) -> u16 {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        terminate(certificate.der().clone(), key, upstream)
    }
}

/// Takes TLS off and passes the bytes on to the upstream; gives the port.
fn terminate(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    upstream: &Upstream,
) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let target: SocketAddr = upstream.origin().strip_prefix("http://").unwrap().parse().unwrap();
    let (opening, opened) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            opening.send(listener.local_addr().unwrap().port()).unwrap();
            while let Ok((tcp, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not believe us has gone by then.
                    let Ok(mut inside) = acceptor.accept(tcp).await else { return };
                    let mut outside = TcpStream::connect(target).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
                });
            }
        });
    });
    opened.recv().unwrap()
}

/// An entry of `providers` that is reached by TLS.
fn provider(name: &str, port: u16, upstream: &Upstream, more: &str) -> String {
    let key = upstream.key();
    format!(
        "  {name}: {{kind: openai, base_url: \"https://localhost:{port}/v1\", api_key: \"{key}\", \
         models: [echo], health: false{more}}}\n"
    )
}

/// A service whose folder has the file of an authority, and a member.
fn service(authority: &Authority, providers: &[String]) -> (Running, Holder) {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    std::fs::write(Path::new(folder.path()).join(AUTHORITY), authority.0.pem()).unwrap();
    let service = Running::start_in(folder, &with_providers(providers, ""));
    let ada = service.holder("ada", 1000 * PRICE);
    (service, ada)
}

fn body(provider: &str) -> Value {
    json!({"model": format!("{provider}/echo"),
        "messages": [{"role": "user", "content": "hello there"}]})
}

#[test]
fn upstream_with_a_configured_authority_is_trusted() {
    let upstream = Upstream::start();
    let authority = Authority::new("the authority of the house");
    let port = authority.front("localhost", 2090, &upstream);
    let trusting = format!(", tls_ca_file: {AUTHORITY}");
    let (service, ada) = service(&authority, &[provider("inside", port, &upstream, &trusting)]);
    let answer = service.post(CHAT, ada.key.as_str(), &body("inside")).good();
    assert_eq!(answer["choices"][0]["message"]["content"], "hello there");
    let mut body = body("inside");
    body["stream"] = true.into();
    for _ in 0..3 {
        let mut raw = Raw::post(service.address, CHAT, ada.key.as_str(), &body);
        assert_eq!(raw.head().status, 200);
        let stream = raw.body();
        assert!(stream.contains("hello") && stream.ends_with("data: [DONE]\n\n"), "{stream}");
    }
    // One connection serves them all.
    assert_eq!((upstream.completions().len(), upstream.connections()), (4, 1));
    assert_eq!(paid(&service, &ada), 4 * PRICE);
}

#[test]
fn untrusted_upstream_gets_no_request() {
    let log = captured_log::log();
    let upstream = Upstream::start();
    let authority = Authority::new("an authority that is believed");
    let stranger = Authority::new("an authority that nobody knows");
    let trusting = format!(", tls_ca_file: {AUTHORITY}");
    let fronts = [
        ("misnamed", authority.front("other.example", 2090, &upstream), "not valid for name"),
        ("expired", authority.front("localhost", 2021, &upstream), "expired"),
        ("unknown", stranger.front("localhost", 2090, &upstream), "UnknownIssuer"),
    ];
    let good = authority.front("localhost", 2090, &upstream);
    let providers: Vec<String> = fronts
        .iter()
        .map(|(name, port, _)| provider(name, *port, &upstream, &trusting))
        .chain([provider("distrusting", good, &upstream, "")])
        .collect();
    let (service, ada) = service(&authority, &providers);
    // The file of the authority is for those providers alone that name it.
    let untrusted = ("distrusting", good, "UnknownIssuer");
    for (name, port, why) in fronts.into_iter().chain([untrusted]) {
        for is_streamed in [false, true] {
            let mut body = body(name);
            body["stream"] = is_streamed.into();
            let answer = service.post(CHAT, ada.key.as_str(), &body);
            assert_eq!(answer.failure(), (503, "upstream_unavailable".to_owned()), "{name}");
            let told = format!("{:?} {}", answer.headers, answer.text());
            for secret in ["localhost", "other.example", "ertificate", &port.to_string()] {
                assert!(!told.contains(secret), "{name} tells {secret}: {told}");
            }
        }
        let mark = format!("provider={name} ");
        let lines = log.lines_with(&mark);
        assert_eq!(lines.len(), 2, "{lines:?}");
        let is_told = |line: &String| line.contains("what=\"unreachable\"") && line.contains(why);
        assert!(lines.iter().all(is_told), "{name}: {lines:?}");
    }
    assert_eq!(upstream.connections(), 0);
    assert_eq!(paid(&service, &ada), 0);
}
