//! Calls that run as tasks: results, questions, cancellation, and a client that was gone meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_test_support::mcp::hostile::{Behaviour, HostileHttp};
use agent_test_support::mcp::{everything_stdio, everything_streamable, rmcp_http, rmcp_stdio};
use agent_test_support::wait::eventually;
use mcp_client::config::{Protocol, ServerEntry};
use mcp_client::content::render;
use mcp_client::host::{Host, ServerTask, TaskStore};
use mcp_client::session::{CallOptions, TaskStatus};
use mcp_client::{Client, Error, Progress};
use serde_json::{Value, json};

use crate::support::{Ada, host, http, stdio, with};

/// Remembers the running tasks, and all there ever were.
#[derive(Debug, Default)]
struct Ledger {
    running: Mutex<Vec<ServerTask>>,
    all: Mutex<Vec<ServerTask>>,
}

impl TaskStore for Ledger {
    fn started(&self, task: &ServerTask) {
        self.running.lock().unwrap().push(task.clone());
        self.all.lock().unwrap().push(task.clone());
    }

    fn ended(&self, task: &ServerTask) {
        self.running.lock().unwrap().retain(|one| one != task);
    }
}

impl Ledger {
    fn running(&self) -> Vec<ServerTask> {
        self.running.lock().unwrap().clone()
    }
}

/// A client of one server that has this tool, with a person and a memory of tasks.
async fn connected(entry: ServerEntry, tool: &str) -> (Client, Arc<Ledger>) {
    let ledger = Arc::new(Ledger::default());
    let tasks: Option<Arc<dyn TaskStore>> = Some(Arc::clone(&ledger) as Arc<_>);
    let client = Client::start([entry], Host { requests: Arc::new(Ada), tasks, ..host().0 });
    client.wait_until_settled(Duration::from_secs(30)).await;
    // Some servers add it when they know the client.
    let mut changes = client.registry_changes();
    let appears = async {
        while client.registry().lookup(tool).is_none() {
            changes.changed().await.unwrap();
        }
    };
    let appeared = tokio::time::timeout(Duration::from_secs(30), appears).await;
    assert!(appeared.is_ok(), "no {tool}: {:?}", client.status());
    (client, ledger)
}

/// Options that keep the progress lines.
fn watched() -> (CallOptions, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&lines);
    let progress = move |progress: Progress| seen.lock().unwrap().push(progress.to_string());
    (CallOptions { progress: Some(Arc::new(progress)), ..CallOptions::default() }, lines)
}

async fn finishes(client: &Client, tool: &str, arguments: Value) -> (String, Vec<String>) {
    let (options, lines) = watched();
    let outcome = client.call(tool, arguments, options).await.unwrap();
    assert!(!outcome.is_error, "{outcome:?}");
    let lines = lines.lock().unwrap().clone();
    (render(&outcome).text, lines)
}

const RESEARCH: &str = "mcp__e__simulate_research_query";

async fn research(entry: ServerEntry) {
    let (client, ledger) = connected(entry, RESEARCH).await;
    let (report, lines) = finishes(&client, RESEARCH, json!({ "topic": "tides" })).await;
    assert!(report.contains("# Research Report: tides"), "{report}");
    assert!(lines.iter().any(|line| line == "working: Analyzing content..."), "{lines:?}");
    assert!(lines.last().unwrap().starts_with("completed"), "{lines:?}");
    let asks = json!({ "topic": "python", "ambiguous": true });
    let (report, lines) = finishes(&client, RESEARCH, asks).await;
    assert!(report.contains("**Clarification**: Ada"), "{report}");
    assert!(lines.iter().any(|line| line.starts_with("input_required: Found")), "{lines:?}");
    assert_eq!(ledger.all.lock().unwrap().len(), 2);
    assert_eq!(ledger.running(), []);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_of_the_reference_server_reports_asks_and_ends() {
    research(stdio("e", &everything_stdio())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_over_http_reports_asks_and_ends() {
    let peer = everything_streamable();
    research(http("e", &peer.url)).await;
}

async fn later(entry: ServerEntry) {
    let (client, ledger) = connected(with(entry, Protocol::Stateless), "mcp__r__later").await;
    let (slept, lines) = finishes(&client, "mcp__r__later", json!({ "ms": 700 })).await;
    assert_eq!(slept, "slept 700 ms");
    assert_eq!(lines, ["working: half way", "completed: half way"]);
    let (greeted, lines) = finishes(&client, "mcp__r__later_ask", json!({})).await;
    assert_eq!(greeted, "hello Ada");
    assert_eq!(lines[0], "input_required: half way");
    assert_eq!(ledger.running(), []);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stateless_server_decides_to_run_a_task() {
    later(stdio("r", &rmcp_stdio())).await;
    let served = rmcp_http(&["--json"]);
    later(http("r", &served.url)).await;
}

/// Starts a call, waits until it runs as a task, and drops it.
async fn gives_up(client: &Client, ledger: &Ledger, tool: &str, arguments: Value) -> ServerTask {
    let (options, lines) = watched();
    let call = client.call(tool, arguments, options);
    let looked = async {
        while lines.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        outcome = call => panic!("it cannot be over: {outcome:?}"),
        () = looked => {}
    }
    ledger.all.lock().unwrap()[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_given_up_is_cancelled_at_the_server() {
    let (served, sleep) = (rmcp_http(&["--json"]), json!({ "ms": 600_000 }));
    let entry = with(http("r", &served.url), Protocol::Stateless);
    let (client, ledger) = connected(entry.clone(), "mcp__r__later").await;
    let task = gives_up(&client, &ledger, "mcp__r__later", sleep.clone()).await;
    // Closing the client does not lose the cancellation.
    client.close().await;
    assert_eq!(ledger.running(), [], "the server confirmed it");
    let (client, _) = connected(entry, "mcp__r__later").await;
    assert_eq!(client.task_state(&task).await.unwrap().status, TaskStatus::Cancelled);
    let ended = client.task_result(&task, &CallOptions::default()).await;
    assert!(matches!(ended, Err(Error::TaskCancelled { .. })), "{ended:?}");
    client.close().await;

    let (client, ledger) = connected(stdio("e", &everything_stdio()), RESEARCH).await;
    let task = gives_up(&client, &ledger, RESEARCH, json!({ "topic": "tides" })).await;
    eventually("the server confirmed it", || ledger.running().is_empty());
    assert_eq!(client.task_state(&task).await.unwrap().status, TaskStatus::Cancelled);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_client_gets_the_result_of_a_lost_one() {
    let served = rmcp_http(&[]);
    let entry = with(http("r", &served.url), Protocol::Stateless);
    let (lost, ledger) = connected(entry.clone(), "mcp__r__later").await;
    let calling = lost.clone();
    // As if its process were killed: it is never polled again, and nothing is dropped.
    let (options, lines) = watched();
    let call = calling.call("mcp__r__later", json!({ "ms": 300 }), options);
    let mut call = Box::pin(call);
    let looked = async {
        while lines.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = &mut call => panic!("it cannot be over"),
        () = looked => {}
    }
    std::mem::forget(call);
    let task = ledger.running()[0].clone();
    assert_eq!((&*task.server, &*task.tool), ("r", "mcp__r__later"));
    let (client, _) = connected(entry, "mcp__r__later").await;
    let outcome = client.task_result(&task, &CallOptions::default()).await.unwrap();
    assert_eq!(render(&outcome).text, "slept 300 ms");
    let unknown = ServerTask { id: "another".to_owned(), ..task };
    assert!(matches!(client.task_state(&unknown).await, Err(Error::Rpc(_))));
    client.close().await;
}

/// The methods of the requests about tasks.
fn about_tasks(site: &HostileHttp) -> Vec<String> {
    let mut methods = site.methods();
    methods.retain(|method| method.starts_with("tasks/"));
    methods
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_without_an_end_is_cancelled_at_the_limit() {
    for (behaviour, name) in
        [(Behaviour::TaskForever, Value::Null), (Behaviour::TaskForeverStateless, json!("task-1"))]
    {
        let site = HostileHttp::start(behaviour).unwrap();
        let mut entry = http("h", &site.url);
        entry.timeout = Duration::from_millis(150);
        let (client, ledger) = connected(entry, "mcp__h__good").await;
        let ended = client.call("mcp__h__good", json!({}), CallOptions::default()).await;
        let Err(Error::CallTooLong { cap, .. }) = ended else { panic!("{ended:?}") };
        assert_eq!(cap, Duration::from_millis(150) * mcp_client::session::MAX_CALL_FACTOR);
        eventually("it is cancelled", || ledger.running().is_empty());
        let requests = about_tasks(&site);
        assert_eq!(requests.last().unwrap(), "tasks/cancel");
        assert_eq!(site.requests().last().unwrap()["headers"]["mcp-name"], name);
        // The least interval is 250 ms, whatever the server says.
        assert!((2..=9).contains(&requests.len()), "{requests:?}");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_notifications_does_not_hasten_the_looks() {
    let site = HostileHttp::start(Behaviour::TaskOdd).unwrap();
    let (client, ledger) = connected(http("h", &site.url), "mcp__h__good").await;
    let (said, lines) = finishes(&client, "mcp__h__good", json!({})).await;
    assert_eq!(said, "good: the task is done");
    assert_eq!(lines.len(), 2, "the same state is reported once: {lines:?}");
    assert_eq!(ledger.running(), []);
    let get = "tasks/get";
    assert_eq!(about_tasks(&site), [get, get, get, get, "tasks/result"]);
    client.close().await;
}
