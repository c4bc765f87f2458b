//! Calls that are lost on the way: a write never runs twice, and a change is never forgotten.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use agent_test_support::mcp::hostile::Behaviour;
use agent_test_support::mcp::{example, hostile_stdio};
use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use mcp_client::Client;
use mcp_client::config::{ServerEntry, Trust};
use mcp_client::session::CallOptions;
use serde_json::{Value, json};

use crate::support::{host, http, stdio};

type Calls = Arc<dyn Fn(usize, &Value) -> Response + Send + Sync>;

/// A server of the legacy era with the tools `write` and `other`. How its calls are answered, by
/// their number, is up to the test; a resumed stream is not found.
async fn serve(calls: Calls) -> (String, Arc<AtomicUsize>) {
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&writes);
    let answer = move |method: Method, headers: HeaderMap, body: String| {
        let (counted, calls) = (Arc::clone(&counted), Arc::clone(&calls));
        async move {
            let message: Value = serde_json::from_str(&body).unwrap_or_default();
            match message["method"].as_str() {
                Some("initialize") => result(
                    &message,
                    &json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} } }),
                ),
                Some("ping") => result(&message, &json!({})),
                Some("tools/list") => {
                    let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
                    result(&message, &json!({ "tools": [tool("write"), tool("other")] }))
                }
                Some("tools/call") if message["params"]["name"] == "write" => {
                    let number = counted.fetch_add(1, Ordering::SeqCst);
                    calls(number, &message)
                }
                Some("tools/call") => calls(usize::MAX, &message),
                Some(_) => StatusCode::ACCEPTED.into_response(),
                None if method == Method::GET && headers.contains_key("last-event-id") => {
                    StatusCode::NOT_FOUND.into_response()
                }
                None => StatusCode::METHOD_NOT_ALLOWED.into_response(),
            }
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = axum::Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, writes)
}

/// A body that neither says anything nor ends.
struct Quiet;

impl hyper::body::Body for Quiet {
    type Data = bytes::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<bytes::Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

fn result(message: &Value, result: &Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
    ([("content-type", "application/json"), ("mcp-session-id", "s1")], body).into_response()
}

fn done(message: &Value) -> Response {
    result(message, &json!({ "content": [{ "type": "text", "text": "done" }] }))
}

fn refused(message: &Value, words: &str) -> Response {
    let error = json!({ "code": -32603, "message": words });
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }).to_string();
    ([("content-type", "application/json")], body).into_response()
}

async fn connected(entry: ServerEntry) -> Client {
    let client = Client::start([entry], host().0);
    client.wait_until_settled(Duration::from_secs(20)).await;
    client
}

async fn said(client: &Client, tool: &str) -> String {
    match client.call(tool, json!({}), CallOptions::default()).await {
        Ok(outcome) => format!("{:?}", outcome.blocks),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_is_not_repeated_after_a_broken_stream() {
    let (url, writes) = serve(Arc::new(|number, message| match number {
        0 => {
            let stream = Body::from("id: 7\nretry: 10\ndata: \n\n");
            ([("content-type", "text/event-stream")], stream).into_response()
        }
        _ => done(message),
    }))
    .await;
    let client = connected(http("h", &url)).await;
    let said = said(&client, "mcp__h__write").await;
    assert!(said.contains("may or may not have run"), "{said}");
    assert_eq!(writes.load(Ordering::SeqCst), 1);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_error_about_a_session_is_not_a_lost_session() {
    let words = "payment booked, but the database session expired";
    let (url, writes) = serve(Arc::new(move |_, message| refused(message, words))).await;
    let client = connected(http("h", &url)).await;
    assert!(said(&client, "mcp__h__write").await.contains(words));
    assert_eq!(writes.load(Ordering::SeqCst), 1);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_session_does_not_repeat_concurrent_writes() {
    let lost = Arc::new(AtomicUsize::new(0));
    let (url, writes) = serve(Arc::new(move |number, message| {
        if number != usize::MAX {
            // It runs as long as the test needs: the answer is a stream that says nothing.
            let quiet = Body::new(Quiet);
            return ([("content-type", "text/event-stream")], quiet).into_response();
        }
        match lost.fetch_add(1, Ordering::SeqCst) {
            0 => StatusCode::NOT_FOUND.into_response(),
            _ => done(message),
        }
    }))
    .await;
    let mut entry = http("h", &url);
    entry.parallel_calls = true;
    let client = connected(entry).await;
    let slow = client.clone();
    let slow = tokio::spawn(async move { said(&slow, "mcp__h__write").await });
    let arrived = Arc::clone(&writes);
    tokio::task::spawn_blocking(move || {
        agent_test_support::wait::eventually("the write is on its way", || {
            arrived.load(Ordering::SeqCst) == 1
        });
    })
    .await
    .unwrap();
    assert!(said(&client, "mcp__h__other").await.contains("done"), "a new session serves it");
    let slow = slow.await.unwrap();
    assert!(slow.contains("may or may not have run"), "{slow}");
    assert_eq!(writes.load(Ordering::SeqCst), 1);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_changed_while_parked_applies_after_reconnecting() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    // The program is missing at first, which parks the server at once.
    let mut entry = stdio("h", &hostile_stdio(Behaviour::Correct));
    let program = example("hostile");
    if let mcp_client::config::Endpoint::Stdio(endpoint) = &mut entry.endpoint {
        endpoint.command = mcp_client::config::Text::literal(there.display().to_string());
    }
    let client = connected(entry.clone()).await;
    assert_eq!(client.status()[0].state.into_str(), "parked");
    entry.trust = Trust::Untrusted;
    assert_eq!(client.reload(vec![entry]).updated, ["h"]);
    std::os::unix::fs::symlink(program, &there).unwrap();
    client.reconnect("h").unwrap();
    let mut changes = client.registry_changes();
    let back = async {
        while client.registry().lookup("mcp__h__good").is_none() {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.unwrap();
    assert!(client.registry().lookup("mcp__h__good").unwrap().needs_approval());
    client.close().await;
}
