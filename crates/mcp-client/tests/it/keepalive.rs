//! Life and death: pings that are missed or refused, servers that vanish, servers that keep dying.

use std::fs;
use std::path::Path;
use std::time::Duration;

use agent_test_support::mcp::hostile::{Behaviour, HostileHttp};
use agent_test_support::mcp::{example, hostile_stdio};
use agent_test_support::wait::eventually;
use mcp_client::Client;
use mcp_client::config::{Endpoint, ServerEntry, StdioEndpoint, Text};
use mcp_client::supervisor::{MAX_FIRST_ATTEMPTS, MAX_RECONNECT_ATTEMPTS, ServerState};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::support::{call, host, http, names, ready, stdio};
use crate::tls::place_of;

const OFTEN: Duration = Duration::from_millis(200);

fn often(mut entry: ServerEntry) -> ServerEntry {
    entry.keepalive = OFTEN;
    entry
}

/// How many requests of this method came so far.
fn asked(server: &HostileHttp, method: &str) -> usize {
    let mark = format!("\"method\":\"{method}\"");
    let requests = server.requests();
    requests.iter().filter(|request| request["body"].as_str().unwrap().contains(&mark)).count()
}

async fn until(what: &'static str, holds: impl FnMut() -> bool + Send + 'static) {
    tokio::task::spawn_blocking(move || eventually(what, holds)).await.unwrap();
}

/// Runs a shell line that has the hostile program as `$0`; every start adds a line to `file`.
fn counted(line: &str, file: &Path) -> ServerEntry {
    let mut endpoint = StdioEndpoint::new("sh");
    let line = format!("echo start >> \"$1\"; {line}");
    let args = [
        "-c".to_owned(),
        line,
        example("hostile").display().to_string(),
        file.display().to_string(),
    ];
    endpoint.args = args.into_iter().map(Text::literal).collect();
    ServerEntry::new("h", Endpoint::Stdio(endpoint))
}

fn starts(file: &Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_server_is_pinged_and_any_response_counts() {
    for behaviour in [Behaviour::Correct, Behaviour::PingUnknown] {
        let server = std::sync::Arc::new(HostileHttp::start(behaviour).unwrap());
        let client = ready(often(http("h", &server.url))).await;
        let watched = std::sync::Arc::clone(&server);
        until("three pings", move || asked(&watched, "ping") >= 3).await;
        assert_eq!(client.status()[0].state, ServerState::Ready);
        assert_eq!(asked(&server, "initialize"), 1, "{behaviour:?}: it was connected once");
        assert_eq!(asked(&server, "tools/list"), 1, "{behaviour:?}: a ping was enough");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missed_ping_is_confirmed_by_a_listing_request() {
    let server = std::sync::Arc::new(HostileHttp::start(Behaviour::PingSilent).unwrap());
    let client = ready(often(http("h", &server.url))).await;
    let watched = std::sync::Arc::clone(&server);
    until("it is asked by listing", move || asked(&watched, "tools/list") >= 4).await;
    assert_eq!(asked(&server, "ping"), 1, "who ignores pings is asked in the other way");
    assert_eq!(asked(&server, "initialize"), 1);
    assert_eq!(client.status()[0].state, ServerState::Ready);
    client.close().await;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("starts");
    let client = ready(often(counted("exec \"$0\" stdio ping-silent", &file))).await;
    // sleep: several pings are missed meanwhile, and nothing must come of it
    tokio::time::sleep(8 * OFTEN).await;
    assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
    assert_eq!((starts(&file), client.status()[0].state.clone()), (1, ServerState::Ready));
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_but_running_process_is_not_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("starts");
    // Three lines get through: both of the handshake, and the first listing.
    let line = "{ sed -u 3q; sleep 600; } | \"$0\" stdio correct";
    let mut entry = often(counted(line, &file));
    entry.connect_timeout = Duration::from_secs(3);
    entry.timeout = Duration::from_secs(1);
    let client = ready(entry).await;
    let watched = client.clone();
    until("it is degraded", move || {
        matches!(watched.status()[0].state, ServerState::Degraded { .. })
    })
    .await;
    // sleep: the next pings are missed too, and nothing must come of it
    tokio::time::sleep(4 * OFTEN).await;
    assert_eq!(starts(&file), 1);
    assert!(client.registry().lookup("mcp__h__good").is_some(), "its tools stay");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_ping_is_sent_during_a_running_call() {
    let server = HostileHttp::start(Behaviour::PingDisturbs).unwrap();
    let local = stdio("h", &hostile_stdio(Behaviour::PingDisturbs));
    for entry in [http("h", &server.url), local] {
        let client = ready(often(entry)).await;
        // The call takes two seconds, ten times the period.
        assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
        client.close().await;
    }
}

/// A port that leads to a server for as long as this lives.
struct PortForwarder(JoinHandle<()>);

impl PortForwarder {
    async fn open(port: u16, place: String) -> (Self, u16) {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut inside, _)) = listener.accept().await {
                let place = place.clone();
                connections.spawn(async move {
                    let mut outside = TcpStream::connect(place).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
                });
            }
        });
        (Self(task), port)
    }

    async fn shut(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_server_loses_its_tools_and_reconnects_on_call() {
    let server = HostileHttp::start(Behaviour::Correct).unwrap();
    let (door, port) = PortForwarder::open(0, place_of(&server.url)).await;
    let client = ready(often(http("h", &format!("http://127.0.0.1:{port}/mcp")))).await;
    let all = names(&client);
    assert_eq!(all.len(), 6);
    door.shut().await;
    let watched = client.clone();
    until("it is parked", move || matches!(watched.status()[0].state, ServerState::Parked { .. }))
        .await;
    assert!(names(&client).is_empty(), "tools of a dead server are not offered");
    assert_eq!(client.status()[0].tools, 0);
    let reason = client.status()[0].state.to_string();
    assert!(reason.contains(&format!("cannot reach http://127.0.0.1:{port}/mcp")), "{reason}");

    // Another server has the address now and does not know the old session.
    let successor = HostileHttp::start(Behaviour::Correct).unwrap();
    let (_door, _) = PortForwarder::open(port, place_of(&successor.url)).await;
    client.reconnect("h").unwrap();
    let watched = client.clone();
    until("it is back", move || watched.status()[0].state == ServerState::Ready).await;
    assert_eq!(names(&client), all);
    assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_exits_after_each_start_is_parked() {
    // The first never gets ready; the second is ready each time, and then its input ends.
    for (line, tries) in [
        ("exec \"$0\" stdio die-at-once", MAX_FIRST_ATTEMPTS),
        ("sed -u 3q | \"$0\" stdio correct", MAX_RECONNECT_ATTEMPTS),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("starts");
        let (host, _) = host();
        let client = Client::start([counted(line, &file)], host);
        let watched = client.clone();
        until("it is parked", move || {
            matches!(watched.status()[0].state, ServerState::Parked { .. })
        })
        .await;
        assert_eq!(starts(&file), tries as usize, "{line}");
        assert!(names(&client).is_empty());
        // sleep: longer than the first wait before another try, which must not come
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(starts(&file), tries as usize, "{line}: parked means left alone");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_before_exiting_is_always_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("starts");
    let client = ready(counted("exec \"$0\" stdio die-after-call", &file)).await;
    for round in 1..=2 * MAX_RECONNECT_ATTEMPTS as usize {
        let said = call(&client, "mcp__h__good", json!({ "text": "a" })).await.text;
        assert_eq!(said, "good: a", "round {round}");
        let file = file.clone();
        until("it is started again", move || starts(&file) > round).await;
    }
    client.close().await;
}
