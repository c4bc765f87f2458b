//! Entries, hosts and clients for the tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_test_support::mcp::ServerCommand;
use mcp_client::config::{
    Endpoint, HttpEndpoint, HttpTransport, Protocol, ServerEntry, StdioEndpoint, Text,
};
use mcp_client::content::{Rendered, render};
use mcp_client::host::{BoxFuture, ClientEvent, Host, Observer, RequestHandler, ServerRequest};
use mcp_client::session::CallOptions;
use mcp_client::supervisor::ServerState;
use mcp_client::{Client, RpcError};
use serde_json::{Value, json};

pub(crate) fn stdio(name: &str, launch: &ServerCommand) -> ServerEntry {
    let mut endpoint = StdioEndpoint::new(launch.command.display().to_string());
    endpoint.args = launch.args.iter().map(Text::literal).collect();
    endpoint.env =
        launch.env.iter().map(|(key, value)| (key.clone(), Text::literal(value))).collect();
    ServerEntry::new(name, Endpoint::Stdio(endpoint))
}

pub(crate) fn http(name: &str, url: &str) -> ServerEntry {
    ServerEntry::new(name, Endpoint::Http(Box::new(HttpEndpoint::new(url))))
}

pub(crate) fn sse(name: &str, url: &str) -> ServerEntry {
    let mut endpoint = HttpEndpoint::new(url);
    endpoint.transport = HttpTransport::Sse;
    ServerEntry::new(name, Endpoint::Http(Box::new(endpoint)))
}

pub(crate) fn with(mut entry: ServerEntry, protocol: Protocol) -> ServerEntry {
    entry.protocol = protocol;
    entry
}

/// Accepts every form with the name Ada.
#[derive(Debug)]
pub(crate) struct Ada;

impl RequestHandler for Ada {
    fn capabilities(&self, _: &ServerEntry) -> Value {
        json!({ "elicitation": { "form": {} } })
    }

    fn answer(&self, request: ServerRequest) -> BoxFuture<Result<Value, RpcError>> {
        assert_eq!(request.method, "elicitation/create");
        let fields = request.params["requestedSchema"]["properties"].as_object().unwrap().clone();
        let content: serde_json::Map<String, Value> =
            fields.keys().map(|key| (key.clone(), json!("Ada"))).collect();
        Box::pin(std::future::ready(Ok(json!({ "action": "accept", "content": content }))))
    }
}

/// Remembers every event.
#[derive(Debug, Default)]
pub(crate) struct RecordedEvents(Mutex<Vec<ClientEvent>>);

impl RecordedEvents {
    pub(crate) fn events(&self) -> Vec<ClientEvent> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for RecordedEvents {
    fn event(&self, event: ClientEvent) {
        self.0.lock().unwrap().push(event);
    }
}

pub(crate) fn host() -> (Host, Arc<RecordedEvents>) {
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let notebook = Arc::new(RecordedEvents::default());
    let observer = Arc::clone(&notebook);
    (Host { observer, ..Host::bare(environment) }, notebook)
}

/// A client whose one server is ready.
pub(crate) async fn ready(entry: ServerEntry) -> Client {
    let (host, _) = host();
    let name = entry.name.clone();
    let client = Client::start([entry], host);
    let status = client.wait_until_server_settled(&name, Duration::from_mins(1)).await.unwrap();
    assert_eq!(status.state, ServerState::Ready, "{}", status.state);
    client
}

/// Calls a tool that must work, and gives back what a model would see.
pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> Rendered {
    let outcome = client.call(tool, arguments, CallOptions::default()).await;
    let outcome = outcome.unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(!outcome.is_error, "{tool}: {outcome:?}");
    render(&outcome)
}

pub(crate) fn names(client: &Client) -> Vec<String> {
    client.registry().entries().map(|entry| entry.name.to_string()).collect()
}
