//! Many servers at once: the dead and the slow never delay the good.

use std::time::{Duration, Instant};

use agent_test_support::mcp::hostile::Behaviour;
use agent_test_support::mcp::hostile_stdio;
use agent_test_support::wait::eventually;
use mcp_client::Client;
use mcp_client::config::{Endpoint, Text, ToolPolicy};
use mcp_client::error::Error;
use mcp_client::session::CallOptions;
use mcp_client::supervisor::ServerState;
use serde_json::json;

use crate::support::{call, host, names, stdio};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_servers_do_not_delay_the_others() {
    let mut entries = Vec::new();
    for number in 0..50 {
        let behaviour = match number % 5 {
            0 => Behaviour::InitializeSilent,
            1 => Behaviour::DieAtOnce,
            _ => Behaviour::Correct,
        };
        let mut entry = stdio(&format!("s{number}"), &hostile_stdio(behaviour));
        entry.connect_timeout = Duration::from_mins(1);
        entries.push(entry);
    }
    // What thirty good servers take alone, with the same claim on the machine.
    let good: Vec<_> = entries
        .iter()
        .filter(|entry| matches!(&entry.endpoint, Endpoint::Stdio(stdio) if stdio.args[1].value() == "correct"))
        .cloned()
        .collect();
    let alone = until_thirty_are_ready(good).await;
    let together = until_thirty_are_ready(entries).await;
    // The processes of the twenty others cost the machine something; waiting for one of them would
    // cost its timeout, which is a minute.
    let most = alone.mul_f64(1.2) + Duration::from_secs(2);
    assert!(together < most, "{together:?} against {alone:?} alone");
}

async fn until_thirty_are_ready(entries: Vec<mcp_client::config::ServerEntry>) -> Duration {
    let (host, _) = host();
    let began = Instant::now();
    let client = Client::start(entries, host);
    let watched = client.clone();
    tokio::task::spawn_blocking(move || {
        eventually("thirty are ready", || {
            let status = watched.status();
            status.iter().filter(|status| status.state == ServerState::Ready).count() == 30
        });
    })
    .await
    .unwrap();
    let took = began.elapsed();
    assert_eq!(names(&client).len(), 30 * 6, "two tools and four utility tools each");
    client.close().await;
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_applies_time_limits_without_a_restart() {
    let entry = stdio("a", &hostile_stdio(Behaviour::CallSilent));
    let (host, _) = host();
    let client = Client::start([entry.clone()], host);
    client.wait_until_settled(Duration::from_secs(30)).await;
    let mut changed = entry;
    changed.timeout = Duration::from_millis(10);
    changed.connect_timeout = Duration::from_secs(61);
    changed.keepalive = Duration::from_secs(99);
    if let Endpoint::Stdio(endpoint) = &mut changed.endpoint {
        endpoint.idle_timeout = Some(Duration::from_mins(15));
        endpoint.max_lifetime = Some(Duration::from_mins(150));
    }
    let done = client.reload(vec![changed]);
    assert_eq!((done.updated, done.restarted), (vec!["a".to_owned()], Vec::new()));
    let error = client.call("mcp__a__good", json!({}), CallOptions::default()).await.unwrap_err();
    let is_new_limit =
        |error: &Error| matches!(error, Error::CallTimeout { idle, .. } if idle.as_millis() == 10);
    let is_right = match &error {
        Error::OutcomeUnknown { cause, .. } => is_new_limit(cause),
        other => is_new_limit(other),
    };
    assert!(is_right, "{error:?}");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_affects_only_changed_servers() {
    let entry = |name: &str| stdio(name, &hostile_stdio(Behaviour::Correct));
    let (host, notebook) = host();
    let client = Client::start([entry("a"), entry("b"), entry("c"), entry("d")], host);
    client.wait_until_settled(Duration::from_secs(30)).await;
    // Who waits may be told before the notebook is.
    let noted = notebook.clone();
    tokio::task::spawn_blocking(move || {
        eventually("all four are noted", || {
            noted.events().iter().filter(|event| format!("{event:?}").contains("ready")).count()
                == 4
        });
    })
    .await
    .unwrap();
    let before = notebook.events().len();

    let mut policy = entry("b");
    policy.tools = ToolPolicy { include: Some(vec!["good".to_owned()]), ..ToolPolicy::default() };
    let mut other = entry("c");
    if let Endpoint::Stdio(endpoint) = &mut other.endpoint {
        endpoint.env.push(("X".to_owned(), Text::literal("1")));
    }
    let entries = vec![entry("a"), policy, other, entry("e")];
    let plan = client.plan_reload(&entries);
    let done = client.reload(entries.clone());
    assert_eq!(plan, done, "what is said before is what is done");
    assert!(!plan.is_empty() && client.plan_reload(&entries).is_empty());
    assert_eq!(
        (done.unchanged, done.updated, done.restarted, done.removed, done.added),
        (
            vec!["a".to_owned()],
            vec!["b".to_owned()],
            vec!["c".to_owned()],
            vec!["d".to_owned()],
            vec!["e".to_owned()]
        )
    );
    let watched = client.clone();
    tokio::task::spawn_blocking(move || {
        eventually("the new set is registered", || {
            let registry = watched.registry();
            registry.lookup("mcp__b__other").is_none()
                && registry.lookup("mcp__d__good").is_none()
                && registry.lookup("mcp__c__good").is_some()
                && registry.lookup("mcp__e__good").is_some()
        });
    })
    .await
    .unwrap();
    for tool in ["mcp__a__good", "mcp__b__good", "mcp__c__good", "mcp__e__good"] {
        assert_eq!(call(&client, tool, json!({ "text": "x" })).await.text, "good: x");
    }
    let since: Vec<String> =
        notebook.events()[before..].iter().map(|event| format!("{event:?}")).collect();
    assert!(!since.iter().any(|event| event.contains("server: \"a\"")), "{since:?}");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lazy_server_is_listed_from_cache_and_started_on_first_call() {
    let cache = tempfile::tempdir().unwrap();
    let mut entry = stdio("l", &hostile_stdio(Behaviour::Correct));
    entry.lazy = true;
    for round in 0..2 {
        let (mut host, _) = host();
        host.cache_dir = Some(cache.path().to_owned());
        let client = Client::start([entry.clone()], host);
        let status = client.wait_until_server_settled("l", Duration::from_secs(20)).await.unwrap();
        let expected = if round == 0 { ServerState::Ready } else { ServerState::Recycled };
        assert_eq!(status.state, expected);
        assert_eq!(call(&client, "mcp__l__good", json!({ "text": "x" })).await.text, "good: x");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disabled_server_is_not_started() {
    let mut entry = stdio("off", &hostile_stdio(Behaviour::Correct));
    entry.enabled = false;
    let (host, _) = host();
    let client = Client::start([entry], host);
    let status = client.wait_until_server_settled("off", Duration::from_secs(5)).await.unwrap();
    assert_eq!((status.state, status.tools), (ServerState::Disabled, 0));
    assert!(names(&client).is_empty());
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_failure_is_shown_until_a_connection_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let works = folder.path().join("works");
    let launched = hostile_stdio(Behaviour::Correct);
    let mut entry = stdio("late", &launched);
    if let Endpoint::Stdio(endpoint) = &mut entry.endpoint {
        let server = endpoint.command.value().to_owned();
        let script = format!("test -e {} && exec {server} stdio correct; exit 9", works.display());
        endpoint.command = Text::literal("sh");
        endpoint.args = vec![Text::literal("-c"), Text::literal(script)];
    }
    let (host, _) = host();
    let client = Client::start([entry], host);
    let watched = client.clone();
    tokio::task::spawn_blocking(move || {
        eventually("the first try failed", || watched.status()[0].failure.is_some());
    })
    .await
    .unwrap();
    let status = client.status().remove(0);
    assert_eq!(status.state, ServerState::Connecting);
    assert_eq!(status.failure.unwrap().to_string(), "the server exited with status 9");
    std::fs::write(works, "").unwrap();
    let status = client.wait_until_server_settled("late", Duration::from_secs(20)).await.unwrap();
    assert_eq!(status.state, ServerState::Ready);
    assert!(status.failure.is_none());
    client.close().await;
}
