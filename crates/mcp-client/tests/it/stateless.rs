//! The stateless era against the official Rust SDK: headers, rounds of input, subscriptions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_test_support::mcp::{rmcp_http, rmcp_stdio};
use agent_test_support::wait::eventually;
use mcp_client::Client;
use mcp_client::config::{Protocol, ServerEntry};
use mcp_client::host::Host;
use mcp_client::{protocol::Era, session::CallOptions};
use serde_json::json;

use crate::support::{Ada, call, host, http, names, ready, stdio, with};

async fn all_tools(entry: ServerEntry, era: Era) {
    let (host, _) = host();
    let host = Host { requests: Arc::new(Ada), ..host };
    let client = Client::start([entry], host);
    client.wait_until_settled(Duration::from_secs(30)).await;
    assert_eq!(client.status()[0].era, Some(era), "{}", client.status()[0].state);
    assert_eq!(call(&client, "mcp__r__echo", json!({ "text": "a" })).await.text, "a");
    let sum = client.call("mcp__r__add", json!({ "a": 1, "b": 2 }), CallOptions::default()).await;
    assert_eq!(sum.unwrap().structured.unwrap()["sum"].as_f64(), Some(3.0));
    // The server checks the mirrored header against the body.
    for region in ["eu-west", "Zürich", " padded ", "=?base64?x?=", "a\nb"] {
        let asked = json!({ "region": region, "query": "q" });
        let said = call(&client, "mcp__r__region", asked).await.text;
        assert!(said.contains(region.trim()), "{region:?}: {said}");
    }
    let blob = call(&client, "mcp__r__blob", json!({ "bytes": 1_000_000 })).await;
    assert_eq!(blob.text.len(), 1_000_000);
    if era == Era::Stateless {
        assert!(call(&client, "mcp__r__ask", json!({})).await.text.contains("Ada"));
        assert!(call(&client, "mcp__r__twice", json!({})).await.text.contains("Ada"));
    }
    assert!(!names(&client).contains(&"mcp__r__grown".to_owned()));
    call(&client, "mcp__r__grow", json!({})).await;
    let watched = client.clone();
    tokio::task::spawn_blocking(move || {
        eventually("the new tool is registered", || {
            watched.registry().lookup("mcp__r__grown").is_some()
        });
    })
    .await
    .unwrap();
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust_sdk_server_works_over_stdio_with_both_protocols() {
    for (protocol, era) in [(Protocol::Auto, Era::Legacy), (Protocol::Stateless, Era::Stateless)] {
        all_tools(with(stdio("r", &rmcp_stdio()), protocol), era).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust_sdk_server_works_over_http_with_both_protocols() {
    for (flags, protocol, era) in [
        (&[][..], Protocol::Auto, Era::Legacy),
        (&[], Protocol::Stateless, Era::Stateless),
        (&["--json"], Protocol::Stateless, Era::Stateless),
    ] {
        let served = rmcp_http(flags);
        all_tools(with(http("r", &served.url), protocol), era).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_nodelay_does_not_delay_calls_by_40_ms() {
    const CALLS: u32 = 50;
    let served = rmcp_http(&[]);
    let client = ready(with(http("r", &served.url), Protocol::Legacy)).await;
    call(&client, "mcp__r__echo", json!({ "text": "warm" })).await;
    let began = Instant::now();
    for _ in 0..CALLS {
        call(&client, "mcp__r__echo", json!({ "text": "a" })).await;
    }
    // A stall is 40 ms every time; what is left is far below, even on a busy machine.
    let each = began.elapsed() / CALLS;
    assert!(each < Duration::from_millis(36), "{each:?} a call");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_run_in_parallel_only_if_the_server_allows_it() {
    for (parallel, least, most) in [(true, 0, 1100), (false, 1200, 60_000)] {
        let mut entry = stdio("r", &rmcp_stdio());
        entry.parallel_calls = parallel;
        let client = ready(entry).await;
        let began = Instant::now();
        let calls = (0..4).map(|_| {
            let client = client.clone();
            tokio::spawn(async move { call(&client, "mcp__r__sleep", json!({ "ms": 300 })).await })
        });
        for done in calls.collect::<Vec<_>>() {
            done.await.unwrap();
        }
        let took = began.elapsed().as_millis();
        assert!((least..most).contains(&took), "parallel {parallel}: {took} ms");
        client.close().await;
    }
}
