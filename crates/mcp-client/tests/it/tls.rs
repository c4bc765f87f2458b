//! TLS: whose certificates are believed, which one we show, and what is said when a file is wrong.

use std::fs;
use std::io::Write;
use std::net::TcpListener as Blocking;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_test_support::mcp::hostile::{Behaviour, HostileHttp};
use mcp_client::config::{ClientCert, Endpoint, HttpTransport, ServerEntry, Text, Verify};
use mcp_client::error::Error;
use mcp_client::host::ClientEvent;
use mcp_client::supervisor::ServerState;
use mcp_client::{Client, config};
use pkcs8::{LineEnding, PrivateKeyInfoRef};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::RootCertStore;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::{call, host, http, ready};

/// How many authorities there are.
static NUMBER: AtomicUsize = AtomicUsize::new(1);
const PASSWORD: &str = "not-a-word-7719";

/// A certificate authority of the test.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub(crate) struct Identity {
    pub(crate) cert: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // Authorities of one name would be taken for one another.
        let name = format!("authority {}", NUMBER.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn issue(&self, names: &[&str]) -> Identity {
        self.issue_until(names, 2090)
    }

    fn issue_until(&self, names: &[&str], year: i32) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        self.sign(&params, &KeyPair::generate().unwrap())
    }

    fn sign(&self, params: &CertificateParams, key: &KeyPair) -> Identity {
        let cert = params.signed_by(key, &self.0).unwrap();
        Identity { cert: cert.pem(), key: key.serialize_pem() }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        Arc::new(roots)
    }
}

impl Identity {
    /// The key as `openssl pkcs8 -topk8` writes it: PBKDF2 with SHA-256, and AES-256.
    fn encrypted(&self, password: &str) -> String {
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let key = PrivateKeyInfoRef::try_from(key.secret_der()).unwrap();
        let how = pkcs8::pkcs5::pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(
            2048, b"sixteen bytes ok", [7; 16],
        );
        let sealed = key.encrypt_with_params(how.unwrap(), password).unwrap();
        sealed.to_pem("ENCRYPTED PRIVATE KEY", LineEnding::LF).unwrap().to_string()
    }
}

/// Takes TLS off and passes the bytes on to a server without; gives the port. With `clients`, only
/// who shows a certificate of that authority comes in.
pub(crate) async fn terminate(
    identity: &Identity,
    clients: Option<&Authority>,
    target: &str,
) -> u16 {
    let chain = CertificateDer::pem_slice_iter(identity.cert.as_bytes());
    let chain: Vec<_> = chain.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(authority.roots(), provider)
                .build()
                .unwrap(),
        ),
    };
    let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let place = place_of(target);
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, place) = (acceptor.clone(), place.clone());
            tokio::spawn(async move {
                match acceptor.accept(tcp).into_fallible().await {
                    Ok(mut inside) => {
                        let mut outside = TcpStream::connect(place).await.unwrap();
                        let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
                    }
                    // Our alert is lost if the connection ends with something unread.
                    Err((_, mut tcp)) => {
                        let _ = tcp.read_to_end(&mut Vec::new()).await;
                    }
                }
            });
        }
    });
    port
}

/// Host and port of an address.
pub(crate) fn place_of(url: &str) -> String {
    url.split('/').nth(2).unwrap().to_owned()
}

pub(crate) fn trusting(mut entry: ServerEntry, verify: Verify) -> ServerEntry {
    let Endpoint::Http(endpoint) = &mut entry.endpoint else { unreachable!() };
    endpoint.verify = verify;
    entry
}

fn showing(mut entry: ServerEntry, cert: ClientCert) -> ServerEntry {
    let Endpoint::Http(endpoint) = &mut entry.endpoint else { unreachable!() };
    endpoint.client_cert = Some(cert);
    entry
}

/// Files of the test.
pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn put(&self, name: &str, text: &str) -> Text {
        fs::write(self.path(name), text).unwrap();
        self.named(name)
    }

    fn named(&self, name: &str) -> Text {
        Text::literal(self.path(name).display().to_string())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// One attempt to connect, without the patience of a keeper.
pub(crate) async fn attempt(entry: &ServerEntry) -> Result<(), Error> {
    let (host, _) = host();
    let client = Client::start([], host);
    let session = client.connect_unsupervised(entry, &|_| {}).await?;
    session.close().await;
    client.close().await;
    Ok(())
}

async fn refused(entry: &ServerEntry) -> String {
    let error = attempt(entry).await.unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error:?}");
    error.to_string()
}

async fn works(entry: ServerEntry) {
    let client = ready(entry).await;
    assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
    client.close().await;
}

/// How many messages arrived. A stream that an earlier client opened last may still come in.
fn posts(server: &HostileHttp) -> usize {
    server.requests().iter().filter(|request| request["method"] == "POST").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_trusted_only_with_its_authority() {
    let (authority, stranger, files) = (Authority::new(), Authority::new(), Files::new());
    let ours = Verify::Bundle(files.put("ours.pem", &authority.pem()));
    let theirs = Verify::Bundle(files.put("theirs.pem", &stranger.pem()));
    let both = files.put("both.pem", &format!("{}{}", stranger.pem(), authority.pem()));
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let identity = authority.issue(&["localhost", "127.0.0.1"]);
    let port = terminate(&identity, None, &server.url).await;
    for name in ["localhost", "127.0.0.1"] {
        let entry = http("h", &format!("https://{name}:{port}/mcp"));
        works(trusting(entry.clone(), ours.clone())).await;
        works(trusting(entry.clone(), Verify::Bundle(both.clone()))).await;
        let before = posts(&server);
        for verify in [Verify::System, theirs.clone()] {
            let said = refused(&trusting(entry.clone(), verify)).await;
            assert!(said.contains("UnknownIssuer"), "{said}");
            assert!(said.contains(&format!("https://{name}:{port}/mcp")), "{said}");
        }
        assert_eq!(posts(&server), before, "nothing was sent to who is not believed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_with_wrong_name_or_date_are_rejected() {
    let (authority, files) = (Authority::new(), Files::new());
    let verify = Verify::Bundle(files.put("ca.pem", &authority.pem()));
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    for (identity, wanted) in [
        (authority.issue(&["elsewhere.test"]), "not valid for name"),
        (authority.issue_until(&["localhost"], 2020), "expired"),
    ] {
        let port = terminate(&identity, None, &server.url).await;
        let entry = http("h", &format!("https://localhost:{port}/mcp"));
        let said = refused(&trusting(entry.clone(), verify.clone())).await;
        assert!(said.contains(wanted), "{said}");
        works(trusting(entry, Verify::Off)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundled_self_signed_certificate_is_trusted_for_its_name() {
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let files = Files::new();
    // What `openssl req -x509` makes: an authority and a server's own in one.
    let make = |name: &str| {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let cert = params.self_signed(&key).unwrap();
        Identity { cert: cert.pem(), key: key.serialize_pem() }
    };
    for (name, fits) in [("127.0.0.1", true), ("elsewhere.test", false)] {
        let own = make(name);
        let port = terminate(&own, None, &server.url).await;
        let entry = http("h", &format!("https://127.0.0.1:{port}/mcp"));
        let listed = files.put("own.pem", &own.cert);
        let entry = trusting(entry, Verify::Bundle(listed));
        if fits {
            works(entry.clone()).await;
            let other = files.put("other.pem", &make(name).cert);
            refused(&trusting(entry, Verify::Bundle(other))).await;
        } else {
            refused(&entry).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disabled_verification_works_and_warns_at_every_start() {
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let port = terminate(&Authority::new().issue(&["elsewhere.test"]), None, &server.url).await;
    let (host, notebook) = host();
    let entry = trusting(http("h", &format!("https://localhost:{port}/mcp")), Verify::Off);
    let client = Client::start([entry], host);
    let warnings = || {
        let events = notebook.events();
        let said = |event: &&ClientEvent| matches!(event, ClientEvent::Warning { text, .. } if text.contains("ssl_verify: false"));
        events.iter().filter(said).count()
    };
    client.wait_until_server_settled("h", Duration::from_secs(20)).await.unwrap();
    assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
    assert_eq!(warnings(), 1);
    client.reconnect("h").unwrap();
    while warnings() < 2 {
        tokio::task::yield_now().await;
    }
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_certificates_are_sent_in_every_format() {
    let (authority, files) = (Authority::new(), Files::new());
    let bundle = files.put("ca.pem", &authority.pem());
    let me = authority.issue(&["me"]);
    let cert = files.put("me.pem", &me.cert);
    let key = files.put("me.key", &me.key);
    let sealed = files.put("me.sealed", &me.encrypted(PASSWORD));
    let whole = files.put("whole.pem", &format!("{}{}", me.key, me.cert));
    for transport in [HttpTransport::Streamable, HttpTransport::Sse] {
        let behaviour = match transport {
            HttpTransport::Streamable => Behaviour::Correct,
            HttpTransport::Sse => Behaviour::SseOnly,
        };
        let server = HostileHttp::start(behaviour).unwrap();
        let identity = authority.issue(&["localhost"]);
        let port = terminate(&identity, Some(&authority), &server.url).await;
        let path = if transport == HttpTransport::Sse { "sse" } else { "mcp" };
        let mut entry = trusting(
            http("h", &format!("https://localhost:{port}/{path}")),
            Verify::Bundle(bundle.clone()),
        );
        let Endpoint::Http(endpoint) = &mut entry.endpoint else { unreachable!() };
        endpoint.transport = transport;

        let said = refused(&entry).await;
        // Its word may come too late to be read.
        let told = said.contains("CertificateRequired") || said.contains("client certificate");
        assert!(told, "{said}");
        let stranger = Authority::new().issue(&["me"]);
        let strange = ClientCert {
            cert: files.put("strange.pem", &format!("{}{}", stranger.cert, stranger.key)),
            key: None,
            password: None,
        };
        refused(&showing(entry.clone(), strange)).await;
        assert!(server.requests().is_empty(), "nobody came in");

        let of = |cert: &Text, key: Option<&Text>, password: Option<&str>| ClientCert {
            cert: cert.clone(),
            key: key.cloned(),
            password: password.map(Text::literal),
        };
        for shown in [
            of(&whole, None, None),
            of(&cert, Some(&key), None),
            of(&cert, Some(&sealed), Some(PASSWORD)),
            // A password that is not needed does no harm.
            of(&cert, Some(&key), Some(PASSWORD)),
        ] {
            works(showing(entry.clone(), shown)).await;
        }
    }
}

/// The forms as they stand in a configuration.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_certificates_work_in_every_configuration_form() {
    let (authority, files) = (Authority::new(), Files::new());
    let me = authority.issue(&["me"]);
    for (name, text) in [
        ("ca.pem", authority.pem()),
        ("me.pem", me.cert.clone()),
        ("me.key", me.key.clone()),
        ("me.sealed", me.encrypted(PASSWORD)),
        ("whole.pem", format!("{}{}", me.cert, me.key)),
    ] {
        files.put(name, &text);
    }
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let identity = authority.issue(&["localhost"]);
    let port = terminate(&identity, Some(&authority), &server.url).await;
    let scope = config::Scope {
        secrets: [("PW".to_owned(), PASSWORD.to_owned())].into(),
        home: Some(files.0.path().to_owned()),
        ..config::Scope::default()
    };
    for form in [
        "client_cert: ~/whole.pem",
        "client_cert: [~/me.pem, ~/me.key]",
        "{client_cert: ~/me.pem, client_key: ~/me.key}",
        "client_cert: [\"${userHome}/me.pem\", ~/me.sealed, \"${PW}\"]",
    ] {
        let form = form.trim_matches(['{', '}'].as_slice());
        let text = format!(
            "mcp_servers: {{h: {{url: 'https://localhost:{port}/mcp', ssl_verify: ~/ca.pem, {form}}}}}"
        );
        let parsed = config::parse(&text, &scope);
        assert!(parsed.problems.is_empty(), "{form}: {:?}", parsed.problems);
        assert!(!format!("{parsed:?}").contains(PASSWORD), "{form}");
        works(parsed.servers[0].entry.clone()).await;
    }
}

/// Which file of an entry is wrong.
#[derive(Clone)]
enum Wrong {
    Authority(Verify),
    Identity(Box<ClientCert>),
}

/// What `openssl` writes for a key on standard input.
fn openssl(arguments: &[&str], key: &str) -> String {
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_in_the_traditional_encrypted_format_is_decrypted() {
    let (authority, files) = (Authority::new(), Files::new());
    let bundle = files.put("ca.pem", &authority.pem());
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let port = terminate(&authority.issue(&["localhost"]), Some(&authority), &server.url).await;
    let entry =
        trusting(http("h", &format!("https://localhost:{port}/mcp")), Verify::Bundle(bundle));
    let rsa = KeyPair::from_pem(&openssl(&["genpkey", "-algorithm", "RSA"], "")).unwrap();
    let params = CertificateParams::new(["me".to_owned()]).unwrap();
    for (me, kind) in [(authority.issue(&["me"]), "ec"), (authority.sign(&params, &rsa), "rsa")] {
        let cert = files.put("me.pem", &me.cert);
        for cipher in ["-aes128", "-aes192", "-aes256", "-des3"] {
            let password = format!("pass:{PASSWORD}");
            let mut arguments = vec![kind, cipher, "-passout", &password];
            // Keys of elliptic curves are always written like this.
            arguments.extend((kind == "rsa").then_some("-traditional"));
            let sealed = openssl(&arguments, &me.key);
            assert!(sealed.contains("Proc-Type: 4,ENCRYPTED"), "{sealed}");
            let key = files.put("me.sealed", &sealed);
            let shown = |password: Option<&str>| ClientCert {
                cert: cert.clone(),
                key: Some(key.clone()),
                password: password.map(Text::literal),
            };
            works(showing(entry.clone(), shown(Some(PASSWORD)))).await;
            for (password, wanted) in
                [(Some("wrong-word-4142"), "cannot be decrypted"), (None, "no password is set")]
            {
                let error = attempt(&showing(entry.clone(), shown(password))).await.unwrap_err();
                assert!(matches!(error, Error::Password { .. }), "{kind} {cipher}: {error}");
                assert!(error.to_string().contains(wanted), "{kind} {cipher}: {error}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_tls_file_is_named_before_connecting() {
    let (authority, files) = (Authority::new(), Files::new());
    let (me, other) = (authority.issue(&["me"]), authority.issue(&["other"]));
    let (cert, key) = (files.put("me.pem", &me.cert), files.put("me.key", &me.key));
    let sealed = files.put("me.sealed", &me.encrypted(PASSWORD));
    let strange = files.put("other.key", &other.key);
    let words = files.put("words.txt", "these are words and no certificate\n");
    let empty = files.put("empty.pem", "");
    let torn = files.put("torn.pem", &me.cert[..me.cert.len() / 2]);
    let old = files.put(
        "old.key",
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END EC PRIVATE KEY-----\n",
    );
    let of = |cert: &Text, key: Option<&Text>, password: Option<&str>| {
        Wrong::Identity(Box::new(ClientCert {
            cert: cert.clone(),
            key: key.cloned(),
            password: password.map(Text::literal),
        }))
    };
    let bundle = |file: &Text| Wrong::Authority(Verify::Bundle(file.clone()));
    let folder = Text::literal(files.0.path().display().to_string());
    let cases = [
        (bundle(&files.named("none.pem")), "none.pem", "cannot be read"),
        (bundle(&empty), "empty.pem", "no PEM certificate"),
        (bundle(&words), "words.txt", "no PEM certificate"),
        (bundle(&torn), "torn.pem", "not valid PEM"),
        (bundle(&key), "me.key", "no PEM certificate"),
        (bundle(&folder), "", "is not a file"),
        (of(&files.named("none.pem"), None, None), "none.pem", "cannot be read"),
        (of(&cert, None, None), "me.pem", "no usable private key"),
        (of(&words, Some(&key), None), "words.txt", "no PEM certificate"),
        (of(&cert, Some(&files.named("none.key")), None), "none.key", "cannot be read"),
        (of(&cert, Some(&words), None), "words.txt", "no usable private key"),
        (of(&cert, Some(&strange), None), "other.key", "is not usable with the certificate"),
        (of(&cert, Some(&sealed), None), "me.sealed", "is encrypted"),
        (of(&cert, Some(&sealed), Some("wrong-word-4142")), "me.sealed", "cannot be decrypted"),
        (of(&cert, Some(&old), Some(PASSWORD)), "old.key", "openssl pkcs8 -topk8"),
    ];
    let listener = Blocking::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    for transport in [HttpTransport::Streamable, HttpTransport::Sse] {
        for (what, file, wanted) in cases.clone() {
            let mut entry = match what {
                Wrong::Authority(verify) => trusting(http("h", &url), verify),
                Wrong::Identity(cert) => showing(http("h", &url), *cert),
            };
            let Endpoint::Http(endpoint) = &mut entry.endpoint else { unreachable!() };
            endpoint.transport = transport;
            let (host, notebook) = host();
            let client = Client::start([entry], host);
            let status =
                client.wait_until_server_settled("h", Duration::from_secs(20)).await.unwrap();
            let ServerState::Parked { reason, .. } = &status.state else {
                panic!("{}", status.state)
            };
            assert!(reason.contains(file) && reason.contains(wanted), "{file}, {wanted}: {reason}");
            assert!(matches!(
                status.failure.as_deref(),
                Some(Error::File { .. } | Error::Password { .. })
            ));
            client.close().await;
            let parked = |event: &&ClientEvent| matches!(event, ClientEvent::State { state, .. } if state != "stopped");
            let count = notebook.events().iter().filter(parked).count();
            assert_eq!(count, 1, "parked by the first failure: {:?}", notebook.events());
            let all = format!("{status:?} {:?}", notebook.events());
            assert!(!all.contains(PASSWORD) && !all.contains("wrong-word-4142"), "{all}");
            assert!(listener.accept().is_err(), "{file}: connected before the files were read");
        }
    }
}
