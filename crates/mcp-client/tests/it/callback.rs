//! The listener of a login: who is let in, who is not, and what a browser shows.

mod pages;

use std::sync::Arc;
use std::time::Duration;

use mcp_client::oauth::callback::{Callback, CallbackListener, LoginOutcome, MAX_CONNECTIONS};
use mcp_client::oauth::redirect::{ExpectedRedirect, RedirectError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

const STATE: &str = "the-state-of-this-login";
const ISSUER: &str = "https://login.example.com";
const WAIT: Duration = Duration::from_secs(20);

fn expected() -> ExpectedRedirect {
    ExpectedRedirect { state: STATE.to_owned(), issuer: ISSUER.to_owned(), issuer_required: false }
}

async fn listener() -> Arc<CallbackListener> {
    Arc::new(CallbackListener::bind(0).await.unwrap())
}

/// Lets a listener wait in the background.
fn waiting(listener: &Arc<CallbackListener>) -> JoinHandle<Callback> {
    let listener = Arc::clone(listener);
    tokio::spawn(async move { listener.redirect(&expected()).await })
}

fn right(port: u16, code: &str) -> String {
    get(port, &format!("/callback?code={code}&state={STATE}"))
}

fn get(port: u16, target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// Sends bytes.
async fn say(port: u16, request: impl AsRef<[u8]>) -> TcpStream {
    let mut stream = connect(port).await;
    // Who is thrown out early cannot say all.
    let _ = stream.write_all(request.as_ref()).await;
    stream
}

/// Reads until the other side closes.
async fn hear(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(WAIT, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn code(arrived: &Callback) -> &str {
    arrived.outcome.as_ref().unwrap().value()
}

fn signed_in() -> LoginOutcome {
    LoginOutcome::SignedIn { server: "docs".to_owned() }
}

/// Requests that are not the right one, by what is wrong with them.
fn strangers(port: u16) -> Vec<(&'static str, Vec<u8>)> {
    let target = format!("/callback?code=evil&state={STATE}");
    let with_host = |host: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let by = |method: &str| {
        format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\r\n")
    };
    let text = [
        ("POST", by("POST")),
        ("HEAD", by("HEAD")),
        ("PUT", by("PUT")),
        ("OPTIONS", by("OPTIONS")),
        ("another method", by("GETT")),
        ("the icon", get(port, "/favicon.ico")),
        ("the root", get(port, "/")),
        ("another path", get(port, &format!("/callback/?code=evil&state={STATE}"))),
        ("a path in capitals", get(port, &format!("/Callback?code=evil&state={STATE}"))),
        ("a path above", get(port, &format!("/x/../callback?code=evil&state={STATE}"))),
        ("no query", get(port, "/callback")),
        ("no state", get(port, "/callback?code=evil")),
        ("another state", get(port, "/callback?code=evil&state=other")),
        ("an error of another state", get(port, "/callback?error=access_denied&state=other")),
        ("two states", get(port, &format!("/callback?code=evil&state={STATE}&state={STATE}"))),
        ("the host of a page elsewhere", with_host(&format!("evil.test:{port}"))),
        ("a host like ours", with_host(&format!("127.0.0.1.evil.test:{port}"))),
        ("a login in the host", with_host(&format!("evil@127.0.0.1:{port}"))),
        ("another port", with_host("127.0.0.1:1")),
        ("no port", with_host("127.0.0.1")),
        ("no host", format!("GET {target} HTTP/1.0\r\n\r\n")),
        (
            "two hosts",
            format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.test\r\n\r\n"),
        ),
        (
            "another host in the target",
            format!("GET http://evil.test{target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
        ),
        ("a proxy's words", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n".to_owned()),
        ("no HTTP", "SSH-2.0-OpenSSH_9.9\r\n\r\n".to_owned()),
        ("too long a head", format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(80 * 1024))),
    ];
    let mut all: Vec<_> = text.into_iter().map(|(what, text)| (what, text.into_bytes())).collect();
    all.push(("TLS", b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03\r\n\r\n".to_vec()));
    all.push(("no text", vec![0xff; 512]));
    all
}

#[tokio::test]
async fn foreign_requests_are_rejected_without_effect() {
    let listener = listener().await;
    let port = listener.port();
    let login = waiting(&listener);
    for (what, request) in strangers(port) {
        let answer = hear(say(port, request).await).await;
        let refused = ["400", "404", "414", "431"].contains(&status(&answer));
        assert!(refused, "{what}: {answer}");
        assert!(!answer.contains("evil"), "{what}: {answer}");
        assert!(!login.is_finished(), "{what} ended the login");
    }
    let browser = say(port, right(port, "good")).await;
    let arrived = login.await.unwrap();
    assert_eq!(code(&arrived), "good");
    let (answer, ()) = tokio::join!(hear(browser), arrived.answer(signed_in()));
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("Signed in to docs"), "{answer}");
    assert!(answer.contains("You can close this tab and go back to the terminal."), "{answer}");
}

#[tokio::test]
async fn every_loopback_host_name_is_accepted() {
    for host in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        let listener = listener().await;
        let port = listener.port();
        let target = format!("/callback?code=c&state={STATE}");
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
        let _browser = say(port, request).await;
        let arrived = tokio::time::timeout(WAIT, listener.redirect(&expected())).await;
        assert_eq!(code(&arrived.expect(host)), "c");
    }
}

#[tokio::test]
async fn errors_and_other_issuers_end_the_login() {
    for (query, fault) in [
        (
            "error=access_denied&error_description=no",
            RedirectError::Refused {
                error: "access_denied".to_owned(),
                description: Some("no".to_owned()),
            },
        ),
        ("code=c&iss=https%3A%2F%2Fevil.test", RedirectError::WrongIssuer),
        ("x=y", RedirectError::NoCode),
    ] {
        let listener = listener().await;
        let request = get(listener.port(), &format!("/callback?state={STATE}&{query}"));
        let browser = say(listener.port(), request).await;
        let arrived = listener.redirect(&expected()).await;
        assert_eq!(arrived.outcome.as_ref().unwrap_err(), &fault);
        let ending = LoginOutcome::Failed { server: "docs".to_owned(), what: fault.to_string() };
        let (answer, ()) = tokio::join!(hear(browser), arrived.answer(ending));
        assert_eq!(status(&answer), "400");
        assert!(answer.contains("See the terminal for the next steps."), "{answer}");
    }
}

#[tokio::test]
async fn silent_connections_do_not_block_the_redirect() {
    let listener = listener().await;
    let port = listener.port();
    let login = waiting(&listener);
    let mut silent = Vec::new();
    for _ in 0..MAX_CONNECTIONS * 2 {
        silent.push(say(port, "GET /callback").await);
    }
    let browser = say(port, right(port, "good")).await;
    let arrived = tokio::time::timeout(WAIT, login).await.unwrap().unwrap();
    // More of them, while the browser waits.
    for _ in 0..MAX_CONNECTIONS * 2 {
        silent.push(connect(port).await);
    }
    let last = silent.remove(MAX_CONNECTIONS * 4 - 1);
    let first = silent.remove(0);
    assert_eq!(hear(first).await, "", "the oldest was put out");
    let (answer, ()) = tokio::join!(hear(browser), arrived.answer(signed_in()));
    assert_eq!(status(&answer), "200");
    drop(last);
}

#[tokio::test(start_paused = true)]
async fn silent_connections_time_out() {
    let listener = listener().await;
    let login = waiting(&listener);
    let began = tokio::time::Instant::now();
    for request in ["", "GET /callback?"] {
        let heard = hear(say(listener.port(), request).await).await;
        assert!(heard.is_empty() || status(&heard) == "408", "{heard}");
    }
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert!(!login.is_finished());
}

#[tokio::test]
async fn a_reloaded_redirect_reports_that_it_was_used() {
    let listener = listener().await;
    let port = listener.port();
    let browser = say(port, right(port, "one")).await;
    let arrived = listener.redirect(&expected()).await;
    // Once while the first still waits, once after its end.
    let replayed = hear(say(port, right(port, "two")).await).await;
    assert!(status(&replayed) == "400" && replayed.contains("already been used"), "{replayed}");
    assert_eq!(code(&arrived), "one");
    let (answer, ()) = tokio::join!(hear(browser), arrived.answer(signed_in()));
    assert_eq!(status(&answer), "200");
    let replayed = hear(say(port, right(port, "three")).await).await;
    assert!(status(&replayed) == "400" && replayed.contains("already been used"), "{replayed}");
}

#[tokio::test]
async fn an_abandoned_login_is_shown_in_the_browser() {
    let listener = listener().await;
    let browser = say(listener.port(), right(listener.port(), "c")).await;
    drop(listener.redirect(&expected()).await);
    let answer = hear(browser).await;
    assert_eq!(status(&answer), "400");
    assert!(answer.contains("Sign-in not completed"), "{answer}");
}

#[tokio::test]
async fn the_page_is_served_after_the_port_was_revoked() {
    let listener = listener().await;
    let port = listener.port();
    let browser = say(port, right(port, "c")).await;
    let arrived = listener.redirect(&expected()).await;
    drop(listener);
    while CallbackListener::bind(port).await.is_err() {
        tokio::task::yield_now().await;
    }
    let (answer, ()) = tokio::join!(hear(browser), arrived.answer(signed_in()));
    assert_eq!(status(&answer), "200");
}

#[tokio::test]
async fn an_early_redirect_is_accepted() {
    let listener = listener().await;
    let port = listener.port();
    let _browser = say(port, right(port, "early")).await;
    assert_eq!(code(&listener.redirect(&expected()).await), "early");
}

#[tokio::test]
async fn a_login_can_be_awaited_again_and_continue_at_another_url() {
    let listener = listener().await;
    let port = listener.port();
    let given_up = waiting(&listener);
    assert_eq!(status(&hear(say(port, get(port, "/")).await).await), "404");
    given_up.abort();
    assert!(given_up.await.is_err());

    let browser = say(port, right(port, "first")).await;
    let arrived = listener.redirect(&expected()).await;
    assert_eq!(code(&arrived), "first");
    let address = "https://login.example.com/authorize?state=second&x=1".to_owned();
    let (answer, ()) = tokio::join!(
        hear(browser),
        arrived.answer(LoginOutcome::Continue { address: address.clone() })
    );
    assert_eq!(status(&answer), "302");
    assert!(answer.contains(&format!("location: {address}\r\n")), "{answer}");
    // The browser is back before anybody waits for it.
    let mut browser = say(port, get(port, "/callback?code=again&state=second")).await;
    let mut byte = [0];
    let early = tokio::time::timeout(Duration::from_millis(100), browser.read(&mut byte));
    assert!(early.await.is_err(), "it waits");
    let second = ExpectedRedirect { state: "second".to_owned(), ..expected() };
    let arrived = listener.redirect(&second).await;
    assert_eq!(code(&arrived), "again");
    let (answer, ()) = tokio::join!(hear(browser), arrived.answer(signed_in()));
    assert_eq!(status(&answer), "200");
    for state in [STATE, "second"] {
        let replayed = hear(say(port, get(port, &format!("/callback?state={state}"))).await).await;
        assert!(replayed.contains("already been used"), "{replayed}");
    }
}

#[tokio::test]
async fn a_proxied_redirect_has_its_own_path_and_host() {
    for path in ["/oauth/done", "oauth/done", "/oauth/done?x=y"] {
        let listener = Arc::new(CallbackListener::bind(0).await.unwrap().at_path(path));
        let port = listener.port();
        let login = waiting(&listener);
        assert_eq!(status(&hear(say(port, right(port, "c")).await).await), "404");
        assert!(!login.is_finished());
        let request = format!(
            "GET /oauth/done?code=c&state={STATE} HTTP/1.1\r\nHost: agent.example.com\r\n\r\n"
        );
        let _browser = say(port, request).await;
        assert_eq!(code(&login.await.unwrap()), "c", "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_or_stalled_browser_does_not_block() {
    for is_gone in [true, false] {
        let listener = listener().await;
        let browser = say(listener.port(), right(listener.port(), "c")).await;
        let arrived = listener.redirect(&expected()).await;
        assert_eq!(code(&arrived), "c");
        let kept = (!is_gone).then_some(browser);
        let began = tokio::time::Instant::now();
        arrived.answer(signed_in()).await;
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        drop(kept);
    }
}

#[tokio::test]
async fn both_loopback_addresses_are_listened_on() {
    for place in ["::1", "127.0.0.1"] {
        let listener = Arc::new(CallbackListener::bind_for("[::1]", 0).await.unwrap());
        let port = listener.port();
        let login = waiting(&listener);
        let mut browser = TcpStream::connect((place, port)).await.unwrap();
        let request =
            format!("GET /callback?code=c&state={STATE} HTTP/1.1\r\nHost: [::1]:{port}\r\n\r\n");
        browser.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(code(&login.await.unwrap()), "c", "{place}");
        // No other program can have either of the two.
        let error = CallbackListener::bind_for("[::1]", port).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
        assert!(std::net::TcpListener::bind((place, port)).is_err());
    }
    let one = CallbackListener::bind_for("localhost", 0).await.unwrap();
    assert!(std::net::TcpListener::bind(("::1", one.port())).is_ok());
}

#[tokio::test]
async fn debug_output_contains_no_secret() {
    let listener = listener().await;
    let _browser = say(listener.port(), right(listener.port(), "very-secret")).await;
    let arrived = listener.redirect(&expected()).await;
    let shown = format!("{listener:?} {arrived:?}");
    assert!(!shown.contains("very-secret") && !shown.contains(STATE), "{shown}");
}

#[tokio::test]
async fn a_port_is_free_once_its_listener_is_dropped() {
    let listener = listener().await;
    let port = listener.port();
    let nobody =
        tokio::time::timeout(Duration::from_millis(1), listener.redirect(&expected())).await;
    assert!(nobody.is_err());
    drop(listener);
    // Nothing else runs in between.
    assert!(std::net::TcpListener::bind(("127.0.0.1", port)).is_ok());
}
