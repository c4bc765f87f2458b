//! The servers of the official SDKs, over every transport they offer.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_test_support::mcp::{
    everything_sse, everything_stdio, everything_streamable, filesystem_stdio, memory_stdio,
    python_sse, python_stdio, python_streamable,
};
use agent_test_support::wait::eventually;
use mcp_client::config::{Protocol, ServerEntry};
use mcp_client::{Client, Error, Progress};
use mcp_client::{protocol::Era, session::CallOptions};
use serde_json::json;

use crate::support::{call, host, http, names, ready, sse, stdio};

async fn grows(client: &Client, tool: &str) {
    let (client, tool) = (client.clone(), tool.to_owned());
    tokio::task::spawn_blocking(move || {
        eventually("the new tool is registered", || client.registry().lookup(&tool).is_some());
    })
    .await
    .unwrap();
}

/// Everything that the reference server offers, called.
async fn everything(entry: ServerEntry) {
    let client = ready(entry).await;
    let all = names(&client);
    for tool in ["echo", "get_sum", "get_tiny_image", "get_structured_content", "list_resources"] {
        assert!(all.contains(&format!("mcp__e__{tool}")), "{tool} of {all:?}");
    }
    assert_eq!(
        call(&client, "mcp__e__echo", json!({ "message": "héllo" })).await.text,
        "Echo: héllo"
    );
    let sum = call(&client, "mcp__e__get_sum", json!({ "a": 2, "b": 40 })).await;
    assert!(sum.text.contains("42"), "{}", sum.text);
    let image = call(&client, "mcp__e__get_tiny_image", json!({})).await;
    assert_eq!(image.attachments.len(), 1);
    assert_eq!(image.attachments[0].mime, "image/png");
    assert!(image.attachments[0].bytes.starts_with(b"\x89PNG"));
    let weather = json!({ "location": "New York" });
    let outcome =
        client.call("mcp__e__get_structured_content", weather, CallOptions::default()).await;
    assert!(outcome.unwrap().structured.unwrap()["temperature"].is_number());
    let links = call(&client, "mcp__e__get_resource_links", json!({ "count": 2 })).await;
    assert!(links.text.contains("demo://"), "{}", links.text);
    let reference = json!({ "resourceType": "Text", "resourceId": 1 });
    let reference = call(&client, "mcp__e__get_resource_reference", reference).await;
    assert!(reference.text.contains("demo://resource/dynamic/text/1"), "{}", reference.text);
    let annotated = json!({ "messageType": "error", "includeImage": true });
    let annotated = call(&client, "mcp__e__get_annotated_message", annotated).await;
    assert_eq!(annotated.attachments.len(), 1);

    let resources = call(&client, "mcp__e__list_resources", json!({})).await.text;
    assert!(resources.contains("demo://resource/static/document/"), "{resources}");
    let uri = "demo://resource/dynamic/text/3";
    let read = call(&client, "mcp__e__read_resource", json!({ "uri": uri })).await;
    assert!(read.text.contains("Resource 3"), "{}", read.text);
    let prompts = call(&client, "mcp__e__list_prompts", json!({})).await.text;
    assert!(prompts.contains("args-prompt"), "{prompts}");
    let filled = json!({ "name": "args-prompt", "arguments": { "city": "Ulm", "state": null } });
    assert!(call(&client, "mcp__e__get_prompt", filled).await.text.contains("Ulm"));

    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let progress = move |_: Progress| {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    let options = CallOptions { progress: Some(Arc::new(progress)), ..CallOptions::default() };
    let long = json!({ "duration": 1, "steps": 4 });
    let done = client.call("mcp__e__trigger_long_running_operation", long, options).await.unwrap();
    assert!(!done.is_error);
    assert!(seen.load(Ordering::Relaxed) >= 3, "progress was seen {seen:?} times");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_server_works_over_stdio() {
    everything(stdio("e", &everything_stdio())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_server_works_over_streamable_http() {
    let peer = everything_streamable();
    everything(http("e", &peer.url)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_server_works_over_sse() {
    let peer = everything_sse();
    everything(sse("e", &peer.url)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filesystem_server_reads_and_writes_inside_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let client = ready(stdio("files", &filesystem_stdio(folder.path()))).await;
    let path = folder.path().join("a.txt");
    let file = json!({ "path": path, "content": "first\nsecond\n" });
    call(&client, "mcp__files__write_file", file).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "first\nsecond\n");
    let read =
        call(&client, "mcp__files__read_text_file", json!({ "path": path, "head": 1 })).await;
    assert!(read.text.starts_with("first"), "{}", read.text);
    let listed =
        call(&client, "mcp__files__list_directory", json!({ "path": folder.path() })).await;
    assert!(listed.text.contains("a.txt"));
    let outside = json!({ "path": "/etc/passwd" });
    let refused = client.call("mcp__files__read_text_file", outside, CallOptions::default()).await;
    assert!(refused.unwrap().is_error);
    let registry = client.registry();
    assert!(registry.lookup("mcp__files__list_resources").is_none(), "it has no resources");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_server_stores_its_graph() {
    let folder = tempfile::tempdir().unwrap();
    let client = ready(stdio("m", &memory_stdio(&folder.path().join("graph.jsonl")))).await;
    let ada = json!({ "name": "Ada", "entityType": "person", "observations": ["writes programs"] });
    call(&client, "mcp__m__create_entities", json!({ "entities": [ada] })).await;
    let found = call(&client, "mcp__m__search_nodes", json!({ "query": "programs" })).await;
    assert!(found.text.contains("Ada"), "{}", found.text);
    client.close().await;
}

/// Everything that our server on the Python SDK offers, called.
async fn python(mut entry: ServerEntry, protocol: Protocol, era: Era) {
    entry.protocol = protocol;
    let client = ready(entry).await;
    assert_eq!(client.status()[0].era, Some(era));
    let all = names(&client);
    // Tools come in pages of four.
    for tool in ["echo", "add", "image", "audio", "slow", "fail", "grow", "big"] {
        assert!(all.contains(&format!("mcp__p__{tool}")), "{tool} of {all:?}");
    }
    assert_eq!(call(&client, "mcp__p__echo", json!({ "text": "ü" })).await.text, "ü");
    let sum = client.call("mcp__p__add", json!({ "a": 1, "b": 2 }), CallOptions::default()).await;
    assert_eq!(sum.unwrap().structured.unwrap(), json!({ "sum": 3 }));
    let image = call(&client, "mcp__p__image", json!({})).await;
    assert_eq!(image.attachments[0].mime, "image/gif");
    let audio = call(&client, "mcp__p__audio", json!({})).await;
    assert_eq!(audio.attachments[0].mime, "audio/wav");
    let big = call(&client, "mcp__p__big", json!({ "kilobytes": 300 })).await;
    assert!(big.text.len() >= 300 * 1024);
    let failed = client.call("mcp__p__fail", json!({}), CallOptions::default()).await.unwrap();
    assert!(failed.is_error);
    let note = call(&client, "mcp__p__read_resource", json!({ "uri": "note://named/Bo" })).await;
    assert!(note.text.contains("Bo"), "{}", note.text);
    let greeting = json!({ "name": "greeting", "arguments": { "name": "Bo" } });
    assert!(call(&client, "mcp__p__get_prompt", greeting).await.text.contains("Bo"));
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_server_works_over_stdio_with_the_legacy_protocol() {
    python(stdio("p", &python_stdio()), Protocol::Auto, Era::Legacy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_server_works_over_stdio_with_the_stateless_protocol() {
    python(stdio("p", &python_stdio()), Protocol::Stateless, Era::Stateless).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_server_works_over_http_with_both_protocols() {
    let peer = python_streamable();
    python(http("p", &peer.url), Protocol::Auto, Era::Legacy).await;
    python(http("p", &peer.url), Protocol::Stateless, Era::Stateless).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_server_works_over_sse() {
    let peer = python_sse();
    python(sse("p", &peer.url), Protocol::Auto, Era::Legacy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sse_transport_is_detected_automatically() {
    let peer = python_sse();
    let (host, notebook) = host();
    let client = Client::start([http("p", &peer.url)], host);
    client.wait_until_settled(Duration::from_secs(30)).await;
    assert_eq!(call(&client, "mcp__p__echo", json!({ "text": "old" })).await.text, "old");
    assert!(format!("{:?}", notebook.events()).contains("transport: sse"));
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_added_later_is_registered() {
    for protocol in [Protocol::Legacy, Protocol::Stateless] {
        let mut entry = stdio("p", &python_stdio());
        entry.protocol = protocol;
        let client = ready(entry).await;
        assert!(client.registry().lookup("mcp__p__grown").is_none());
        call(&client, "mcp__p__grow", json!({})).await;
        grows(&client, "mcp__p__grown").await;
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_call_is_cancelled_at_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("cancelled");
    for protocol in [Protocol::Legacy, Protocol::Stateless] {
        let mut launch = python_stdio();
        launch.env.push(("CANCEL_LOG".to_owned(), log.display().to_string()));
        let mut entry = stdio("p", &launch);
        entry.protocol = protocol;
        let client = ready(entry).await;
        let started = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&started);
        let (told, heard) = tokio::sync::oneshot::channel();
        *seen.lock().unwrap() = Some(told);
        let progress = move |_: Progress| {
            if let Some(told) = started.lock().unwrap().take() {
                let _ = told.send(());
            }
        };
        let options = CallOptions { progress: Some(Arc::new(progress)), ..CallOptions::default() };
        let slow = client.call("mcp__p__slow", json!({ "seconds": 60 }), options);
        tokio::select! {
            _ = slow => panic!("it cannot be over"),
            _ = heard => {}
        }
        let file = log.clone();
        tokio::task::spawn_blocking(move || {
            eventually("the server noticed", || file.exists());
        })
        .await
        .unwrap();
        fs::remove_file(&log).unwrap();
        // The server and the session are as good as before.
        assert_eq!(call(&client, "mcp__p__echo", json!({ "text": "on" })).await.text, "on");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_extends_the_timeout_and_silence_does_not() {
    let mut entry = stdio("p", &python_stdio());
    entry.timeout = Duration::from_secs(1);
    let client = ready(entry).await;
    // Ten progress notifications a second keep a call of three seconds alive.
    assert_eq!(call(&client, "mcp__p__slow", json!({ "seconds": 3 })).await.text, "slept 3.0");
    client.close().await;
    let mut entry = stdio("e", &everything_stdio());
    entry.timeout = Duration::from_secs(1);
    let client = ready(entry).await;
    let silent = json!({ "duration": 30, "steps": 1 });
    let tool = "mcp__e__trigger_long_running_operation";
    let error = client.call(tool, silent, CallOptions::default()).await.unwrap_err();
    assert!(matches!(error, Error::CallTimeout { .. }), "{error}");
    assert_eq!(call(&client, "mcp__e__echo", json!({ "message": "on" })).await.text, "Echo: on");
    client.close().await;
}
