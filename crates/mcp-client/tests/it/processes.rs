//! Processes: nothing of a server is left, whatever happens to it or to us.

use std::fs;
use std::path::Path;
use std::time::Duration;

use agent_test_support::mcp::hostile::Behaviour;
use agent_test_support::mcp::{example, hostile_stdio};
use agent_test_support::wait::eventually;
use mcp_client::Client;
use mcp_client::config::Text;
use mcp_client::config::{Endpoint, ServerEntry};
use mcp_client::session::CallOptions;
use mcp_client::supervisor::ServerState;
use serde_json::json;

use crate::support::{call, host, ready, stdio};

/// The ids a hostile server wrote down, once all are there.
fn pids(file: &Path, count: usize) -> Vec<i32> {
    let mut found = Vec::new();
    eventually("the ids are written", || {
        let text = fs::read_to_string(file).unwrap_or_default();
        found = text
            .split_whitespace()
            .filter_map(|word| word.rsplit('=').next()?.parse().ok())
            .collect();
        found.len() >= count
    });
    found
}

fn lives(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().next();
    !matches!(state, Some("Z" | "X"))
}

fn hostile(behaviour: Behaviour, file: &Path) -> ServerEntry {
    let mut launch = hostile_stdio(behaviour);
    launch.env.push(("HOSTILE_PIDS".to_owned(), file.display().to_string()));
    stdio("h", &launch)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stubborn_server_and_its_descendants_end_with_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let client = ready(hostile(Behaviour::Stubborn, &file)).await;
    let ids = pids(&file, 3);
    assert!(ids.iter().all(|id| lives(*id)), "{ids:?}");
    client.close().await;
    let left: Vec<&i32> = ids.iter().filter(|id| lives(**id)).collect();
    assert!(left.is_empty(), "{left:?} of {ids:?} survived");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_end_with_an_exited_group_leader() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let client = ready(hostile(Behaviour::LeaderLeaves, &file)).await;
    let ids = pids(&file, 2);
    client.close().await;
    assert!(!ids.iter().any(|id| lives(*id)), "{ids:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_client_ends_the_servers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let client = ready(hostile(Behaviour::Stubborn, &file)).await;
    let ids = pids(&file, 3);
    drop(client);
    tokio::task::spawn_blocking(move || {
        eventually("all have ended", || !ids.iter().any(|id| lives(*id)));
    })
    .await
    .unwrap();
}

#[test]
fn dropping_the_runtime_ends_the_servers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(ready(hostile(Behaviour::Stubborn, &file)));
    let ids = pids(&file, 3);
    drop(runtime);
    drop(client);
    eventually("all have ended", || !ids.iter().any(|id| lives(*id)));
}

#[test]
fn the_guardian_ends_all_processes_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let mut owner = std::process::Command::new(example("owner"))
        .arg(example("hostile"))
        .args(["stdio", "stubborn"])
        .env("HOSTILE_PIDS", &file)
        .stdin(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let ids = pids(&file, 3);
    assert!(ids.iter().all(|id| lives(*id)));
    // Kill -9: nothing of ours gets to run.
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("the guardian has ended all", || !ids.iter().any(|id| lives(*id)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crashed_server_is_restarted_once() {
    let (host, _) = host();
    let mut entry = stdio("h", &hostile_stdio(Behaviour::DieMidCall));
    entry.timeout = Duration::from_secs(5);
    let client = Client::start([entry], host);
    client.wait_until_settled(Duration::from_secs(20)).await;
    for _ in 0..3 {
        let lost =
            client.call("mcp__h__good", json!({}), CallOptions::default()).await.unwrap_err();
        let text = lost.to_string();
        assert!(text.contains("may or may not have run"), "{text}");
        assert!(text.contains("exited with status 3"), "{text}");
        let said = call(&client, "mcp__h__other", json!({ "text": "back" })).await;
        assert_eq!(said.text, "other: back");
    }
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_server_is_recycled_at_the_next_call() {
    let mut entry = stdio("h", &hostile_stdio(Behaviour::Correct));
    if let Endpoint::Stdio(endpoint) = &mut entry.endpoint {
        endpoint.idle_timeout = Some(Duration::from_millis(300));
        endpoint.env.push(("X".to_owned(), Text::literal("y")));
    }
    let client = ready(entry).await;
    for _ in 0..2 {
        recycled(&client).await;
        assert!(client.registry().lookup("mcp__h__good").is_some(), "its tools stay listed");
        assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
    }
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_recycled_at_its_maximum_lifetime() {
    let mut entry = stdio("h", &hostile_stdio(Behaviour::Correct));
    if let Endpoint::Stdio(endpoint) = &mut entry.endpoint {
        endpoint.max_lifetime = Some(Duration::from_millis(400));
    }
    let client = ready(entry).await;
    recycled(&client).await;
    assert_eq!(call(&client, "mcp__h__good", json!({ "text": "a" })).await.text, "good: a");
    client.close().await;
}

async fn recycled(client: &Client) {
    let client = client.clone();
    tokio::task::spawn_blocking(move || {
        eventually("it is recycled", || client.status()[0].state == ServerState::Recycled);
    })
    .await
    .unwrap();
}
