//! The way to a remote server: headers, logins, redirects, proxies, and connections that never come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_test_support::mcp::hostile::{Behaviour, HostileHttp};
use mcp_client::Client;
use mcp_client::config::{Endpoint, HttpEndpoint, HttpTransport, Scope, ServerEntry, Text, parse};
use mcp_client::config::{Protocol, Verify};
use mcp_client::error::Error;
use mcp_client::host::Host;
use mcp_client::supervisor::ServerState;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{call, host, http, ready};
use crate::tls::{Authority, Files, attempt, place_of, terminate, trusting};

fn endpoint(entry: &mut ServerEntry) -> &mut HttpEndpoint {
    let Endpoint::Http(endpoint) = &mut entry.endpoint else { unreachable!() };
    endpoint
}

fn with_headers(mut entry: ServerEntry, headers: &[(&str, &str)]) -> ServerEntry {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), Text::literal(*value)));
    endpoint(&mut entry).headers = headers.collect();
    entry
}

fn header<'a>(request: &'a Value, name: &str) -> Option<&'a str> {
    request["headers"][name].as_str()
}

async fn works(entry: ServerEntry) {
    let client = ready(entry).await;
    assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_web_page_fails_the_preflight_unless_it_is_skipped() {
    let server = HostileHttp::start(Behaviour::HtmlGet).unwrap();
    let entry = http("h", &server.url);
    for protocol in [Protocol::Auto, Protocol::Stateless, Protocol::Legacy] {
        let entry = ServerEntry { protocol, ..entry.clone() };
        let error = attempt(&entry).await.unwrap_err();
        assert!(matches!(error, Error::Preflight { .. }), "{error}");
    }
    let mut entry = entry;
    endpoint(&mut entry).skip_preflight = true;
    works(entry).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configured_headers_are_sent_and_reserved_ones_ignored() {
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let reserved = [
        ("Accept", "text/html"),
        ("accept-encoding", "gzip, br"),
        ("Content-Type", "text/plain"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("Host", "elsewhere.test"),
        ("Connection", "close"),
        ("Keep-Alive", "timeout=1"),
        ("Expect", "100-continue"),
        ("TE", "trailers"),
        ("Trailer", "X-End"),
        ("Upgrade", "h2c"),
        ("Mcp-Session-Id", "of nobody"),
        ("MCP-Protocol-Version", "1999-01-01"),
        ("Mcp-Method", "tools/steal"),
        ("Mcp-Name", "nothing"),
        ("Last-Event-ID", "9"),
    ];
    let own = [("X-Api-Key", "  k-1  "), ("authorization", "Bearer b-1"), ("User-Agent", "me/1")];
    let all = [&reserved[..], &own[..]].concat();
    works(with_headers(http("h", &server.url), &all)).await;
    let requests = server.requests();
    let posts = requests.iter().filter(|request| request["method"] == "POST").count();
    assert!(posts >= 4, "{requests:?}");
    for request in &requests {
        assert_eq!(header(request, "x-api-key"), Some("k-1"));
        assert_eq!(header(request, "authorization"), Some("Bearer b-1"));
        assert_eq!(header(request, "user-agent"), Some("me/1"));
        for (name, value) in reserved {
            assert_ne!(header(request, &name.to_lowercase()), Some(value), "{request}");
        }
        assert!(header(request, "accept").is_none_or(|accept| !accept.contains("html")));
        assert_eq!(header(request, "host"), Some(&*place_of(&server.url)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_header_is_named_without_its_value() {
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    for (name, value) in [("X Key", "s3cret-one"), ("X-Key", "s3cret\ntwo")] {
        let (host, notebook) = host();
        let client = Client::start([with_headers(http("h", &server.url), &[(name, value)])], host);
        let status = client.wait_until_server_settled("h", Duration::from_secs(20)).await.unwrap();
        let ServerState::Parked { reason, .. } = &status.state else { panic!("{}", status.state) };
        assert!(reason.contains(name), "{reason}");
        let all = format!("{status:?} {:?}", notebook.events());
        assert!(!all.contains("s3cret"), "{all}");
        client.close().await;
    }
    assert!(server.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn url_credentials_become_a_header_and_are_never_shown() {
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let place = place_of(&server.url);
    let scope = Scope {
        secrets: [("PW".to_owned(), "p%40ss-word-1".to_owned())].into(),
        ..Scope::default()
    };
    let of = |text: &str| {
        let parsed = parse(&format!("mcp_servers: {{h: {text}}}"), &scope);
        assert!(!format!("{parsed:?}").contains("ss-word"), "{parsed:?}");
        parsed.servers[0].entry.clone()
    };
    let entry = of(&format!("{{url: 'http://ada:p%40ss-word-1@{place}/mcp'}}"));
    works(entry).await;
    works(of(&format!("{{url: 'http://ada:${{PW}}@{place}/mcp'}}"))).await;
    // "ada:p@ss-word-1"
    let basic = Some("Basic YWRhOnBAc3Mtd29yZC0x");
    let requests = server.requests();
    assert!(requests.len() >= 8);
    assert!(requests.iter().all(|request| header(request, "authorization") == basic));
    assert!(requests.iter().all(|request| request["path"] == "/mcp"));

    // A header that a person wrote is not overruled by the address.
    let own =
        format!("{{url: 'http://ada:x-y-z@{place}/mcp', headers: {{Authorization: 'Own 1'}}}}");
    works(of(&own)).await;
    assert_eq!(header(server.requests().last().unwrap(), "authorization"), Some("Own 1"));

    // Nobody listens, nobody speaks TLS, nobody speaks MCP: each error shows the address.
    let page = HostileHttp::start(Behaviour::HtmlPage).unwrap();
    for (address, seen) in [
        ("http://ada:p%40ss-word-1@127.0.0.1:9/mcp".to_owned(), "127.0.0.1:9"),
        (format!("https://ada:p%40ss-word-1@{place}/mcp"), &*place),
        (format!("http://ada:p%40ss-word-1@{}/mcp", place_of(&page.url)), &*place_of(&page.url)),
    ] {
        let mut entry = of(&format!("{{url: '{address}'}}"));
        entry.connect_timeout = Duration::from_secs(5);
        let error = attempt(&entry).await.unwrap_err();
        let said = format!("{error} {error:?}");
        // A server that takes TLS for the beginning of a request may wait for the rest of it.
        let silent = matches!(error, Error::ConnectTimeout { .. });
        assert!(silent || said.contains(seen), "{said}");
        for part in ["ss-word", "YWRhOnBAc3Mtd29yZC0x"] {
            assert!(!said.contains(part), "{said}");
        }
    }
}

const KEYS: &[(&str, &str)] = &[("Authorization", "Bearer b-2"), ("X-Api-Key", "k-2")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_are_redirected_only_within_the_origin() {
    for (behaviour, arrives) in [(Behaviour::RedirectSame, true), (Behaviour::RedirectOther, false)]
    {
        let server = HostileHttp::start(behaviour).unwrap();
        works(with_headers(http("h", &server.url), KEYS)).await;
        let requests = server.requests();
        let (first, moved): (Vec<&Value>, Vec<&Value>) = requests
            .iter()
            .partition(|request| request["server"] == "main" && request["path"] == "/mcp");
        assert!(first.len() >= 4 && moved.len() >= 4, "{behaviour:?}: {requests:?}");
        for request in first {
            assert_eq!(header(request, "x-api-key"), Some("k-2"));
        }
        for request in moved {
            let kept = [header(request, "authorization"), header(request, "x-api-key")];
            let wanted = if arrives { [Some("Bearer b-2"), Some("k-2")] } else { [None; 2] };
            assert_eq!(kept, wanted, "{behaviour:?}: {request}");
        }
    }
}

/// Answers every request with a redirect to `to`.
async fn redirecting(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let answer = format!(
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: {to}\r\nContent-Length: 0\r\n\
                 Connection: close\r\n\r\n"
            );
            tokio::spawn(async move {
                let mut scrap = [0; 4096];
                let _ = tcp.read(&mut scrap).await;
                let _ = tcp.write_all(answer.as_bytes()).await;
                let _ = tcp.shutdown().await;
                while matches!(tcp.read(&mut scrap).await, Ok(1..)) {}
            });
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirects_from_https_must_be_https_and_drop_headers() {
    let (authority, files) = (Authority::new(), Files::new());
    let bundle = files.put("ca.pem", &authority.pem());
    let identity = authority.issue(&["localhost"]);
    let target = HostileHttp::start(Behaviour::Correct).unwrap();
    let over_tls = async |url: &str| {
        let port = terminate(&identity, None, url).await;
        let entry = http("h", &format!("https://localhost:{port}/mcp"));
        with_headers(trusting(entry, Verify::Bundle(bundle.clone())), KEYS)
    };

    let down = over_tls(&redirecting(target.url.clone()).await).await;
    let error = attempt(&down).await.unwrap_err();
    assert!(matches!(error, Error::Redirect { .. }), "{error:?}");
    assert!(error.to_string().contains("from https to http"), "{error}");
    assert!(target.requests().is_empty());

    let port = terminate(&identity, None, &target.url).await;
    let aside = redirecting(format!("https://localhost:{port}/mcp")).await;
    works(over_tls(&aside).await).await;
    let requests = target.requests();
    assert!(requests.len() >= 4);
    for request in &requests {
        assert_eq!([header(request, "authorization"), header(request, "x-api-key")], [None; 2]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_loop_ends_without_retry() {
    let server = HostileHttp::start(Behaviour::RedirectLoop).unwrap();
    let (host, _) = host();
    let client = Client::start([http("h", &server.url)], host);
    let status = client.wait_until_server_settled("h", Duration::from_secs(20)).await.unwrap();
    let reason = status.state.reason().unwrap_or_default();
    assert!(reason.contains("too many redirects"), "{}", status.state);
    // Six for the look beforehand, six for the handshake.
    assert_eq!(server.requests().len(), 12);
    client.close().await;
}

/// A proxy of the test, for HTTP and SOCKS 5. Whatever is asked for, it leads to one place.
struct Relay {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Relay {
    async fn start(place: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (place, log) = (place.clone(), Arc::clone(&log));
                tokio::spawn(async move {
                    let mut first = [0];
                    if tcp.peek(&mut first).await.unwrap_or(0) == 0 {
                        return;
                    }
                    match first {
                        [5] => through_socks(tcp, &place, &log).await,
                        [b'C'] => through_tunnel(tcp, &place, &log).await,
                        _ => {
                            log.lock().unwrap().push("plain".to_owned());
                            pass(tcp, &place).await;
                        }
                    }
                });
            }
        });
        Self { port, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn pass(mut inside: TcpStream, place: &str) {
    let mut outside = TcpStream::connect(place).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
}

async fn through_tunnel(mut tcp: TcpStream, place: &str, log: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tcp.read_u8().await.unwrap());
    }
    log.lock().unwrap().push(String::from_utf8(head).unwrap());
    tcp.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    pass(tcp, place).await;
}

async fn through_socks(mut tcp: TcpStream, place: &str, log: &Mutex<Vec<String>>) {
    let mut said = String::new();
    let methods = piece(&mut tcp, 1).await;
    let with_login = methods.contains(&2);
    tcp.write_all(&[5, if with_login { 2 } else { 0 }]).await.unwrap();
    if with_login {
        let user = piece(&mut tcp, 1).await;
        let password = piece(&mut tcp, 0).await;
        let text = |bytes| String::from_utf8(bytes).unwrap();
        said = format!("{}:{}@", text(user), text(password));
        tcp.write_all(&[1, 0]).await.unwrap();
    }
    let mut request = [0; 4];
    tcp.read_exact(&mut request).await.unwrap();
    assert_eq!(request, [5, 1, 0, 3], "a name, which the proxy looks up");
    said += &String::from_utf8(piece(&mut tcp, 0).await).unwrap();
    let port = tcp.read_u16().await.unwrap();
    log.lock().unwrap().push(format!("{said}:{port}"));
    tcp.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    pass(tcp, place).await;
}

/// Bytes behind their count, after `skip` others.
async fn piece(tcp: &mut TcpStream, skip: usize) -> Vec<u8> {
    for _ in 0..skip {
        tcp.read_u8().await.unwrap();
    }
    let length = tcp.read_u8().await.unwrap();
    let mut bytes = vec![0; usize::from(length)];
    tcp.read_exact(&mut bytes).await.unwrap();
    bytes
}

/// A host with these variables and no other proxies.
fn behind(variables: &[(&str, String)]) -> Host {
    let (host, _) = host();
    let mut environment: BTreeMap<String, String> = host.environment.clone();
    environment.retain(|name, _| !name.to_lowercase().ends_with("_proxy"));
    environment.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Host { environment, ..host }
}

async fn works_behind(entry: ServerEntry, host: Host) {
    let client = Client::start([entry], host);
    let status = client.wait_until_server_settled("h", Duration::from_secs(30)).await.unwrap();
    assert_eq!(status.state, ServerState::Ready, "{}", status.state);
    assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
    client.close().await;
}

/// "Aladdin:open sesame"
const BASIC: &str = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_requests_use_the_proxy_with_credentials() {
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let relay = Relay::start(place_of(&server.url)).await;
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let before = server.requests().len();
        let proxy = format!("http://Aladdin:open%20sesame@127.0.0.1:{}", relay.port);
        works_behind(http("h", "http://mcp.test/mcp"), behind(&[(variable, proxy)])).await;
        let requests = &server.requests()[before..];
        assert!(requests.len() >= 4);
        for request in requests {
            assert_eq!(request["path"], "http://mcp.test/mcp", "{request}");
            assert_eq!(header(request, "host"), Some("mcp.test"));
            assert_eq!(header(request, "proxy-authorization"), Some(BASIC));
        }
    }
    assert!(relay.seen().iter().all(|kind| kind == "plain"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn https_uses_a_tunnel_and_hides_proxy_credentials() {
    let (authority, files) = (Authority::new(), Files::new());
    let bundle = Verify::Bundle(files.put("ca.pem", &authority.pem()));
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let port = terminate(&authority.issue(&["mcp.test"]), None, &server.url).await;
    let relay = Relay::start(format!("127.0.0.1:{port}")).await;
    let entry = trusting(with_headers(http("h", "https://mcp.test/mcp"), KEYS), bundle);
    let proxy = format!("http://Aladdin:open%20sesame@127.0.0.1:{}", relay.port);
    works_behind(entry, behind(&[("HTTPS_PROXY", proxy)])).await;
    let seen = relay.seen();
    assert!(!seen.is_empty());
    for head in seen {
        assert!(head.starts_with("CONNECT mcp.test:443 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains(BASIC), "{head}");
        assert!(!head.contains("b-2") && !head.contains("k-2"), "{head}");
    }
    for request in server.requests() {
        assert_eq!(request["path"], "/mcp");
        assert_eq!(header(&request, "proxy-authorization"), None);
        assert_eq!(header(&request, "x-api-key"), Some("k-2"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn socks_proxies_get_host_port_and_credentials() {
    let (authority, files) = (Authority::new(), Files::new());
    let bundle = Verify::Bundle(files.put("ca.pem", &authority.pem()));
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let port = terminate(&authority.issue(&["mcp.test"]), None, &server.url).await;
    let plain = Relay::start(place_of(&server.url)).await;
    let secure = Relay::start(format!("127.0.0.1:{port}")).await;
    for (relay, url, wanted) in [
        (&plain, "http://mcp.test/mcp", "mcp.test:80"),
        (&plain, "http://mcp.test:8080/mcp", "mcp.test:8080"),
        (&secure, "https://mcp.test/mcp", "mcp.test:443"),
    ] {
        for (login, prefix) in [("", ""), ("ada:pass@", "ada:pass@")] {
            for scheme in ["socks5", "socks5h"] {
                let before = relay.seen().len();
                let proxy = format!("{scheme}://{login}127.0.0.1:{}", relay.port);
                let entry = trusting(http("h", url), bundle.clone());
                works_behind(entry, behind(&[("ALL_PROXY", proxy)])).await;
                let seen = &relay.seen()[before..];
                assert!(!seen.is_empty());
                assert!(seen.iter().all(|one| *one == format!("{prefix}{wanted}")), "{seen:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loopback_and_no_proxy_hosts_bypass_the_proxy() {
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let relay = Relay::start(place_of(&server.url)).await;
    let proxy = format!("http://127.0.0.1:{}", relay.port);
    let port = place_of(&server.url).rsplit_once(':').unwrap().1.to_owned();
    for name in ["127.0.0.1", "localhost"] {
        let entry = http("h", &format!("http://{name}:{port}/mcp"));
        works_behind(entry, behind(&[("ALL_PROXY", proxy.clone())])).await;
    }
    // There is no such host: without the proxy it cannot be reached.
    let mut entry = http("h", "http://mcp.test/mcp");
    entry.connect_timeout = Duration::from_secs(2);
    let client = Client::start(
        [],
        behind(&[("HTTP_PROXY", proxy.clone()), ("NO_PROXY", "other.test, *.test".to_owned())]),
    );
    let error = client.connect_unsupervised(&entry, &|_| {}).await.unwrap_err();
    let expected = matches!(error, Error::Unreachable { .. } | Error::ConnectTimeout { .. });
    assert!(expected, "{error:?}");
    assert!(relay.seen().is_empty(), "{:?}", relay.seen());
    works_behind(entry, behind(&[("HTTP_PROXY", proxy), ("NO_PROXY", "other.test".to_owned())]))
        .await;
    assert!(!relay.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connect_timeout_is_enforced() {
    // The system takes connections for it, and nobody ever answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    for scheme in ["http", "https"] {
        for transport in [HttpTransport::Streamable, HttpTransport::Sse] {
            for protocol in [Protocol::Auto, Protocol::Stateless, Protocol::Legacy] {
                let mut entry = http("h", &format!("{scheme}://{place}/mcp"));
                entry.connect_timeout = Duration::from_millis(400);
                entry.protocol = protocol;
                endpoint(&mut entry).transport = transport;
                let began = Instant::now();
                let error = attempt(&entry).await.unwrap_err();
                let took = began.elapsed();
                let text = error.to_string();
                assert!(text.contains("within 0.4 s"), "{scheme} {transport:?}: {text}");
                // The look beforehand may take as long again, and a busy machine a little.
                assert!(took < Duration::from_secs(3), "{scheme} {transport:?}: {took:?}");
            }
        }
    }
}
