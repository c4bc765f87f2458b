//! Resource templates and subscriptions to resources.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_test_support::mcp::{
    everything_stdio, everything_streamable, memory_stdio, python_stdio, rmcp_http, rmcp_stdio,
};
use mcp_client::Client;
use mcp_client::client::Completed;
use mcp_client::config::{Protocol, ServerEntry};
use serde_json::json;

use crate::support::{call, http, ready, stdio, with};

async fn changes(client: &Client, uri: &str) {
    let server = client.status()[0].server.clone();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    while client.watch_resource(&server, uri).await.unwrap() != Some(true) {
        assert!(tokio::time::Instant::now() < deadline, "no change of {uri} was reported");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// `touch` changes the resource.
async fn watch(entry: ServerEntry, uri: &str, touch: &str) {
    let client = ready(entry).await;
    let server = client.status()[0].server.clone();
    let watched = async || client.watch_resource(&server, uri).await.unwrap();
    assert_eq!(watched().await, Some(true), "it may have changed before");
    assert_eq!(watched().await, Some(false));
    // A stateless server learns of it by a request that nobody waits for.
    if client.status()[0].era == Some(mcp_client::protocol::Era::Stateless) {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    call(&client, touch, json!({})).await;
    changes(&client, uri).await;
    client.unwatch_resource(&server, uri).await.unwrap();
    assert_eq!(watched().await, Some(true), "it is subscribed to again");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_a_resource_are_noticed_in_both_eras() {
    let (uri, touch) = ("demo://resource/dynamic/text/1", "mcp__e__toggle_subscriber_updates");
    watch(stdio("e", &everything_stdio()), uri, touch).await;
    let peer = everything_streamable();
    watch(http("e", &peer.url), uri, touch).await;
    let (uri, touch) = ("peer://note", "mcp__r__touch");
    watch(with(stdio("r", &rmcp_stdio()), Protocol::Stateless), uri, touch).await;
    let served = rmcp_http(&[]);
    watch(with(http("r", &served.url), Protocol::Stateless), uri, touch).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_session_subscribes_again_and_counts_as_a_change() {
    let client = ready(stdio("e", &everything_stdio())).await;
    let uri = "demo://resource/dynamic/text/1";
    assert_eq!(client.watch_resource("e", uri).await.unwrap(), Some(true));
    assert_eq!(client.watch_resource("e", uri).await.unwrap(), Some(false));
    client.reconnect("e").unwrap();
    changes(&client, uri).await;
    call(&client, "mcp__e__toggle_subscriber_updates", json!({})).await;
    changes(&client, uri).await;
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_subscriptions_is_not_asked() {
    let client = ready(stdio("p", &python_stdio())).await;
    assert_eq!(client.watch_resource("p", "note://today").await.unwrap(), None);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_of_the_memory_server_changes_with_its_graph() {
    let folder = tempfile::tempdir().unwrap();
    let client = ready(stdio("m", &memory_stdio(&folder.path().join("graph.jsonl")))).await;
    let uri = "memory://knowledge-graph";
    client.watch_resource("m", uri).await.unwrap();
    let ada = json!({ "name": "Ada", "entityType": "person", "observations": [] });
    call(&client, "mcp__m__create_entities", json!({ "entities": [ada] })).await;
    changes(&client, uri).await;
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variables_of_a_template_are_completed_by_the_server() {
    let client = ready(stdio("e", &everything_stdio())).await;
    let templates = client.resource_templates("e").await.unwrap();
    let text = templates.iter().find(|one| one.uri_template.contains("/text/")).unwrap();
    let begun = text.begun("demo://resource/dynamic/text/7").unwrap();
    assert_eq!((begun.variable, &*begun.begun), (Some("resourceId"), "7"));
    let of = Completed::Template(&text.uri_template);
    let suggested = async |typed| {
        client.complete("e", of, ("resourceId", typed), &BTreeMap::new()).await.unwrap()
    };
    assert_eq!(suggested("7").await, ["7"]);
    assert!(suggested("none").await.is_empty());
    client.close().await;
}
