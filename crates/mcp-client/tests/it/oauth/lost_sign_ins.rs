//! Ways to lose a sign-in, or to trouble somebody with it, that are none.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_test_support::oauth::{Endpoint as Part, Fault, FaultyAuthServer, Issuer, Script, visit};
use mcp_client::Client;
use mcp_client::config::{Auth, Endpoint, HttpEndpoint, OauthOptions, ServerEntry, Text};
use mcp_client::host::{BoxFuture, Browser, Host, SignInPage, SignInReply};
use mcp_client::oauth::{Account, LoginOptions};
use mcp_client::session::CallOptions;
use mcp_client::supervisor::ServerState;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::support::host;

/// A person who goes wherever they are sent.
#[derive(Debug)]
struct AcceptingBrowser;

impl Browser for AcceptingBrowser {
    fn open_sign_in(&self, asked: SignInPage) -> BoxFuture<SignInReply> {
        Box::pin(async move {
            let _ = tokio::task::spawn_blocking(move || visit(&asked.address)).await;
            std::future::pending().await
        })
    }
}

/// A person who gives up at once.
#[derive(Debug)]
struct CancellingBrowser;

impl Browser for CancellingBrowser {
    fn open_sign_in(&self, _: SignInPage) -> BoxFuture<SignInReply> {
        Box::pin(std::future::ready(SignInReply::Cancelled))
    }
}

fn entry_at(url: &str, options: OauthOptions) -> ServerEntry {
    let auth = Auth::OAuth(Box::new(options));
    let mut entry = ServerEntry::new(
        "docs",
        Endpoint::Http(Box::new(HttpEndpoint { auth, ..HttpEndpoint::new(url) })),
    );
    entry.connect_timeout = Duration::from_secs(20);
    entry
}

fn entry(server: &FaultyAuthServer) -> ServerEntry {
    entry_at(&server.mcp_url(), OauthOptions::default())
}

fn host_in(folder: &Path) -> Host {
    Host { token_dir: Some(folder.to_owned()), ..host().0 }
}

async fn login(
    entry: &ServerEntry,
    folder: &Path,
    browser: &dyn Browser,
) -> Result<(), mcp_client::Error> {
    let account = Account::of(entry, &Arc::new(host_in(folder))).unwrap().unwrap();
    account.login(browser, LoginOptions::default()).await
}

/// Somebody is signed in to a server that plays this script.
async fn signed_in(script: Script) -> (FaultyAuthServer, TempDir, ServerEntry) {
    let (server, folder) = (FaultyAuthServer::start(script).unwrap(), tempfile::tempdir().unwrap());
    let entry = entry(&server);
    login(&entry, folder.path(), &AcceptingBrowser).await.unwrap();
    (server, folder, entry)
}

async fn ready(entry: &ServerEntry, folder: &Path) -> Client {
    let client = Client::start([entry.clone()], host_in(folder));
    let status = client.wait_until_server_settled("docs", Duration::from_secs(30)).await.unwrap();
    assert_eq!(status.state, ServerState::Ready, "{}", status.state);
    client
}

async fn echo(client: &Client, within: Duration) -> Result<(), mcp_client::Error> {
    let options = CallOptions { timeout: Some(within), ..CallOptions::default() };
    client.call("mcp__docs__echo", json!({ "text": "x" }), options).await.map(drop)
}

fn tokens(folder: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(folder.join("docs.json")).ok()?).ok()
}

/// A caller that goes away while the token is renewed must not cost the sign-in.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_caller_does_not_lose_renewed_tokens() {
    let (server, folder, entry) = signed_in(Script::default()).await;
    let client = ready(&entry, folder.path()).await;
    server.expire_access_tokens();
    server.change(|script| {
        script.token = Part::failing_times(1, Fault::Late(Duration::from_secs(2)));
    });
    echo(&client, Duration::from_secs(1)).await.unwrap_err();
    // sleep: what must not happen would happen in this time.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let second = echo(&client, Duration::from_secs(20)).await;
    assert!(second.is_ok(), "{second:?}; kept: {}", tokens(folder.path()).is_some());
}

/// A process that notices that the server moved must not delete newer credentials of another process.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_issuer_change_does_not_delete_newer_tokens() {
    let (server, folder, entry) = signed_in(Script::default()).await;
    let client = ready(&entry, folder.path()).await;
    server.change(|script| {
        script.issuer = Issuer::Other;
        script.resource_metadata = Part::failing_times(1, Fault::Late(Duration::from_secs(3)));
    });
    let calling = tokio::spawn(async move {
        let outcome = echo(&client, Duration::from_secs(20)).await;
        (client, outcome)
    });
    // sleep: what must not happen would happen in this time.
    tokio::time::sleep(Duration::from_millis(500)).await;
    login(&entry, folder.path(), &AcceptingBrowser).await.unwrap();
    let issuer = tokens(folder.path()).unwrap()["issuer"].clone();
    assert_eq!(issuer, server.other_url());
    let (_client, _) = calling.await.unwrap();
    assert!(tokens(folder.path()).is_some(), "the new sign-in was wiped by who had the old one");
}

/// Two processes at a server that takes no token must not wake each other for ever.
#[tokio::test(flavor = "multi_thread")]
async fn parked_processes_do_not_trigger_renewals() {
    let (server, folder, entry) = signed_in(Script::default()).await;
    server.change(|script| script.mcp = Part::failing(Fault::status(401)));
    let _one = Client::start([entry.clone()], host_in(folder.path()));
    let _two = Client::start([entry.clone()], host_in(folder.path()));
    // sleep: what must not happen would happen in this time.
    tokio::time::sleep(Duration::from_secs(4)).await;
    server.forget_requests();
    // sleep: what must not happen would happen in this time.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let renewals = server.requests_to("/token").len();
    assert!(renewals <= 2, "{renewals} renewals in 12 s although both are parked for 300 s");
}

/// Listens there, once nobody else who signs in on this machine does.
async fn take(place: &str) -> TcpListener {
    for _ in 0..600 {
        match TcpListener::bind(place) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                // sleep: a sign-in takes its time, and nobody tells when it is over.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            bound => return bound.unwrap(),
        }
    }
    panic!("{place} was not free for a minute");
}

/// The registration of what is kept stays until a new login has worked.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_login_keeps_the_registration() {
    let mut script = Script::default();
    let patch = json!({ "token_endpoint_auth_methods_supported": ["client_secret_post"] });
    script.server_metadata = Part::saying(patch);
    let (server, folder, entry) = signed_in(script).await;
    // Somebody else has the port of the registration now: the next login registers anew.
    let clients = fs::read_to_string(folder.path().join("docs.client.json")).unwrap();
    let clients: Value = serde_json::from_str(&clients).unwrap();
    let redirect = clients["registrations"][server.issuer()]["redirect_uri"].as_str().unwrap();
    let place = redirect.trim_start_matches("http://").trim_end_matches("/callback").to_owned();
    let _taken = take(&place).await;
    login(&entry, folder.path(), &CancellingBrowser).await.unwrap_err();
    let client = ready(&entry, folder.path()).await;
    server.expire_access_tokens();
    let outcome = echo(&client, Duration::from_secs(20)).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// The same where the document was refused before: a login gives it another chance.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_login_after_a_rejection_keeps_the_registration() {
    let mut script = Script::default();
    let patch = json!({ "token_endpoint_auth_methods_supported": ["client_secret_post"] });
    script.server_metadata = Part::saying(patch);
    let (server, folder, entry) = signed_in(script).await;
    fs::write(folder.path().join("docs.cimd-off"), "").unwrap();
    login(&entry, folder.path(), &CancellingBrowser).await.unwrap_err();
    let client = ready(&entry, folder.path()).await;
    server.expire_access_tokens();
    let outcome = echo(&client, Duration::from_secs(20)).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// An authorization server may move its token endpoint: what was found out once is found out again.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_token_endpoint_is_discovered_again() {
    let (server, folder, entry) = signed_in(Script::default()).await;
    // As if it had been elsewhere when it was looked up.
    let path = folder.path().join("docs.meta.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("/token\"", "/old-token\"")).unwrap();
    server.expire_access_tokens();
    let client = Client::start([entry.clone()], host_in(folder.path()));
    let status = client.wait_until_server_settled("docs", Duration::from_secs(40)).await.unwrap();
    assert_eq!(status.state, ServerState::Ready, "{}", status.state);
}

/// A call that never left because the token was being renewed has no unknown outcome.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_waiting_for_a_renewal_has_a_known_outcome() {
    let (server, folder) =
        (FaultyAuthServer::start(Script::default()).unwrap(), tempfile::tempdir().unwrap());
    let mut entry = entry(&server);
    let Endpoint::Http(http) = &mut entry.endpoint else { panic!("not http") };
    let Auth::OAuth(options) = &mut http.auth else { panic!("no sign-in") };
    options.scope = Some(Text::literal("mcp:write"));
    login(&entry, folder.path(), &AcceptingBrowser).await.unwrap();
    let client = ready(&entry, folder.path()).await;
    // As good as over, by our own clock.
    let mut kept = tokens(folder.path()).unwrap();
    kept["expires_at"] = json!(1);
    fs::write(folder.path().join("docs.json"), kept.to_string()).unwrap();
    // sleep: what must not happen would happen in this time.
    tokio::time::sleep(Duration::from_millis(700)).await;
    server.change(|script| script.token = Part::failing(Fault::Silent));
    server.forget_requests();
    let options = CallOptions { timeout: Some(Duration::from_secs(1)), ..CallOptions::default() };
    let outcome = client.call("mcp__docs__write", json!({ "text": "x" }), options).await;
    assert!(server.requests_to("/mcp").iter().all(|seen| seen.form["method"] != "tools/call"));
    let error = outcome.unwrap_err();
    assert!(!matches!(error, mcp_client::Error::OutcomeUnknown { .. }), "{error}");
}

/// What a person cancels once is not asked again by everybody who waited.
#[tokio::test(flavor = "multi_thread")]
async fn one_cancellation_answers_all_waiting_calls() {
    const CALLS: usize = 4;
    #[derive(Debug)]
    struct Counting {
        visits: AtomicUsize,
        calls: watch::Sender<usize>,
    }
    impl Browser for Counting {
        fn open_sign_in(&self, _: SignInPage) -> BoxFuture<SignInReply> {
            self.visits.fetch_add(1, Ordering::SeqCst);
            let mut calls = self.calls.subscribe();
            Box::pin(async move {
                calls.wait_for(|calls| *calls == CALLS).await.unwrap();
                // sleep: in this time those who have begun come to where the person is asked.
                tokio::time::sleep(Duration::from_millis(1500)).await;
                SignInReply::Cancelled
            })
        }
    }
    let (server, folder) =
        (FaultyAuthServer::start(Script::default()).unwrap(), tempfile::tempdir().unwrap());
    let mut entry = entry(&server);
    entry.parallel_calls = true;
    login(&entry, folder.path(), &AcceptingBrowser).await.unwrap();
    let browser = Arc::new(Counting { visits: AtomicUsize::new(0), calls: watch::Sender::new(0) });
    let with_person = Arc::clone(&browser) as Arc<dyn Browser>;
    let host = Host { browser: Some(with_person), ..host_in(folder.path()) };
    let client = Client::start([entry.clone()], host);
    client.wait_until_server_settled("docs", Duration::from_secs(30)).await.unwrap();
    server.revoke_everything();
    let client = Arc::new(client);
    let calls: Vec<_> = (0..CALLS)
        .map(|_| {
            let (client, browser) = (Arc::clone(&client), Arc::clone(&browser));
            tokio::spawn(async move {
                browser.calls.send_modify(|calls| *calls += 1);
                echo(&client, Duration::from_secs(20)).await
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap_err();
    }
    let asked = browser.visits.load(Ordering::SeqCst);
    assert!(asked <= 1, "the person was brought to sign in {asked} times for one moment");
}

/// A pair that could not be written is still the newer one.
#[tokio::test(flavor = "multi_thread")]
async fn unwritten_new_tokens_are_preferred_to_stored_ones() {
    let (server, folder, entry) = signed_in(Script::default()).await;
    let client = ready(&entry, folder.path()).await;
    server.expire_access_tokens();
    server.change(|script| {
        script.token = Part::failing_times(1, Fault::Late(Duration::from_secs(2)));
    });
    let path = folder.path().to_owned();
    let spoiling = tokio::spawn(async move {
        // As if the last step failed: what was made room for has gone.
        // sleep: what must not happen would happen in this time.
        tokio::time::sleep(Duration::from_secs(1)).await;
        for file in fs::read_dir(path).unwrap().flatten() {
            if file.file_name().to_string_lossy().ends_with(".tmp") {
                fs::remove_file(file.path()).unwrap();
            }
        }
    });
    echo(&client, Duration::from_secs(20)).await.unwrap();
    spoiling.await.unwrap();
    server.expire_access_tokens();
    let outcome = echo(&client, Duration::from_secs(20)).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// A damaged file does not cost a process the good pair it holds.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_does_not_affect_tokens_in_memory() {
    let (server, folder, entry) = signed_in(Script::default()).await;
    let client = ready(&entry, folder.path()).await;
    fs::write(folder.path().join("docs.json"), "").unwrap();
    // sleep: what must not happen would happen in this time.
    tokio::time::sleep(Duration::from_millis(700)).await;
    echo(&client, Duration::from_secs(20)).await.unwrap();
    server.expire_access_tokens();
    let outcome = echo(&client, Duration::from_secs(20)).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// A program that signs in by itself needs nobody to sign in.
#[tokio::test(flavor = "multi_thread")]
async fn rejected_client_credentials_do_not_request_a_sign_in() {
    use mcp_client::config::Flow;
    let (server, folder) =
        (FaultyAuthServer::start(Script::default()).unwrap(), tempfile::tempdir().unwrap());
    let options = OauthOptions {
        flow: Flow::ClientCredentials,
        client_id: Some(Text::literal("me")),
        client_secret: Some(Text::literal("wrong")),
        ..OauthOptions::default()
    };
    let entry = entry_at(&server.mcp_url(), options);
    let client = Client::start([entry], host_in(folder.path()));
    let status = client.wait_until_server_settled("docs", Duration::from_secs(30)).await.unwrap();
    assert!(!matches!(status.state, ServerState::NeedsSignIn { .. }), "{}", status.state);
}

/// An authorization server that forgot us shows a page and redirects nobody: some login must get out
/// of that without a logout.
#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_registration_does_not_block_login_forever() {
    let (server, folder) =
        (FaultyAuthServer::start(Script::default()).unwrap(), tempfile::tempdir().unwrap());
    let options = OauthOptions { timeout: Some(Duration::from_secs(2)), ..OauthOptions::default() };
    let entry = entry_at(&server.mcp_url(), options);
    login(&entry, folder.path(), &AcceptingBrowser).await.unwrap();
    server.forget_clients();
    server.revoke_everything();
    let first = login(&entry, folder.path(), &AcceptingBrowser).await;
    let second = login(&entry, folder.path(), &AcceptingBrowser).await;
    assert!(second.is_ok(), "first {first:?}, then {second:?}");
}

/// Whether the server has moved is a question that must not stand in the way of a renewal.
#[tokio::test(flavor = "multi_thread")]
async fn silent_resource_metadata_does_not_block_a_renewal() {
    let (server, folder, entry) = signed_in(Script::default()).await;
    let client = ready(&entry, folder.path()).await;
    server.change(|script| script.resource_metadata = Part::failing(Fault::Silent));
    server.expire_access_tokens();
    let outcome = echo(&client, Duration::from_secs(15)).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// A program that signs in by itself brings nobody to a browser.
#[tokio::test(flavor = "multi_thread")]
async fn client_credentials_login_opens_no_browser() {
    use mcp_client::config::Flow;
    #[derive(Debug, Default)]
    struct Counting(std::sync::atomic::AtomicUsize);
    impl Browser for Counting {
        fn open_sign_in(&self, _: SignInPage) -> BoxFuture<SignInReply> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Box::pin(std::future::ready(SignInReply::Cancelled))
        }
    }
    let (server, folder) =
        (FaultyAuthServer::start(Script::default()).unwrap(), tempfile::tempdir().unwrap());
    let options = OauthOptions {
        flow: Flow::ClientCredentials,
        client_id: Some(Text::literal("me")),
        client_secret: Some(Text::literal("word")),
        ..OauthOptions::default()
    };
    let entry = entry_at(&server.mcp_url(), options);
    let browser = Counting::default();
    let _ = login(&entry, folder.path(), &browser).await;
    assert_eq!(browser.0.load(std::sync::atomic::Ordering::SeqCst), 0);
}

/// What an install link of a remote server can hold: any file of the user, sent to the host that the
/// server names. The dialog says nothing of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_linked_remote_server_never_receives_a_local_file() {
    let (server, folder) =
        (FaultyAuthServer::start(Script::default()).unwrap(), tempfile::tempdir().unwrap());
    let private = folder.path().join("id_ed25519");
    fs::write(&private, "-----BEGIN OPENSSH PRIVATE KEY-----\nmine\n").unwrap();
    let config = json!({
        "url": server.mcp_url(),
        "auth": "oauth",
        "oauth": { "flow": "workload", "assertion_file": private },
    });
    let made = mcp_client::install_link::build("docs", config.as_object().unwrap()).unwrap();
    let link = mcp_client::install_link::parse(&made).unwrap();
    let scope = mcp_client::config::Scope::default();
    let (configured, _) =
        mcp_client::config::parse_entry(&link.name, &Value::Object(link.config), &scope).unwrap();
    let client = Client::start([configured.entry], host_in(&folder.path().join("tokens")));
    client.wait_until_server_settled("docs", Duration::from_secs(30)).await.unwrap();
    let sent: Vec<_> =
        server.requests_to("/token").iter().filter_map(|seen| seen.field("assertion")).collect();
    assert!(sent.is_empty(), "{sent:?}");
}
