//! The client that the official conformance suite drives: the scenario and the version come by
//! environment, the address of its server as the last argument.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::config::{Endpoint, HttpEndpoint, Protocol, ServerEntry};
use mcp_client::host::{Answer, Host, Requests, ServerRequest};
use mcp_client::session::{CallOptions, Session, Stage};
use mcp_client::tool::Tool;
use mcp_client::{Client, Error, RpcError};
use serde_json::{Map, Value, json};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The suite shows what its client writes here.
            let _ =
                std::io::Write::write_all(&mut std::io::stderr(), format!("{error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome {
    let variables: BTreeMap<String, String> = std::env::vars().collect();
    let word = |name: &str| variables.get(name).cloned().unwrap_or_default();
    let url = std::env::args().next_back().ok_or("no address")?;
    let mut endpoint = HttpEndpoint::new(url);
    endpoint.skip_preflight = true;
    let mut entry = ServerEntry::new("suite", Endpoint::Http(Box::new(endpoint)));
    entry.connect_timeout = Duration::from_secs(20);
    entry.timeout = Duration::from_secs(20);
    if word("MCP_CONFORMANCE_PROTOCOL_VERSION") == mcp_client::session::STATELESS_VERSION {
        entry.protocol = Protocol::Stateless;
    }
    let host = Host { requests: Arc::new(Accept), ..Host::bare(variables.clone()) };
    let client = Client::start([], host);
    let session = client.dial(&entry, &|_: Stage| {}).await?;
    let done =
        play(&session, &word("MCP_CONFORMANCE_SCENARIO"), &word("MCP_CONFORMANCE_CONTEXT")).await;
    session.close().await;
    client.close().await;
    done
}

async fn play(session: &Session, scenario: &str, context: &str) -> Outcome {
    let tools = session.list_tools().await?.tools;
    let find = |name: &str| {
        tools.iter().find(|tool| tool.name == name).ok_or_else(|| format!("no tool {name}"))
    };
    // The server's own stream opens beside everything else, and both of these look at it.
    if matches!(scenario, "sse-retry" | "elicitation-sep1034-client-defaults") {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    match scenario {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {}
        "tools_call" => call(session, find("add_numbers")?, &json!({ "a": 2, "b": 3 })).await?,
        "sse-retry" => call(session, find("test_reconnection")?, &json!({})).await?,
        "elicitation-sep1034-client-defaults" => {
            call(session, find("test_client_elicitation_defaults")?, &json!({})).await?;
        }
        "sep-2322-client-request-state" => {
            for tool in tools.iter().filter(|tool| tool.name.starts_with("test_mrtr")) {
                call(session, tool, &json!({})).await?;
            }
        }
        "http-standard-headers" => everything_by_name(session, &tools).await?,
        "http-custom-headers" => {
            let context: Value = serde_json::from_str(context)?;
            for wanted in context["toolCalls"].as_array().ok_or("no calls in the context")? {
                let name = wanted["name"].as_str().ok_or("a call without a name")?;
                call(session, find(name)?, &wanted["arguments"]).await?;
            }
        }
        "http-invalid-tool-headers" => {
            for tool in &tools {
                call(session, tool, &json!({ "region": "eu" })).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let schema = find("json_schema_2020_12_tool")?.input_schema.clone();
            call(session, find("json_schema_echo")?, &json!({ "schema": schema })).await?;
        }
        unknown => return Err(format!("unknown scenario {unknown}").into()),
    }
    Ok(())
}

async fn everything_by_name(session: &Session, tools: &[Arc<Tool>]) -> Outcome {
    for tool in tools {
        call(session, tool, &json!({})).await?;
    }
    let options = CallOptions::default();
    for resource in session.list_resources().await?.items {
        session.read_resource(&resource.uri, &options).await?;
    }
    for prompt in session.list_prompts().await?.items {
        session.get_prompt(&prompt.name, &BTreeMap::new(), &options).await?;
    }
    Ok(())
}

async fn call(session: &Session, tool: &Tool, arguments: &Value) -> Result<(), Error> {
    session.call_tool(tool, arguments, &CallOptions::default()).await.map(drop)
}

/// Accepts every form with its defaults, and confirms.
#[derive(Debug)]
struct Accept;

impl Requests for Accept {
    fn capabilities(&self, _: &ServerEntry) -> Value {
        json!({ "elicitation": { "form": {} } })
    }

    fn answer(&self, request: ServerRequest) -> Answer<Result<Value, RpcError>> {
        let fields = request.params["requestedSchema"]["properties"].as_object().cloned();
        let content: Map<String, Value> = fields
            .unwrap_or_default()
            .into_iter()
            .filter_map(|(name, field)| {
                let value = match field.get("default") {
                    Some(default) => default.clone(),
                    None if field["type"] == "boolean" => json!(true),
                    None => return None,
                };
                Some((name, value))
            })
            .collect();
        let accepted = json!({ "action": "accept", "content": content });
        Box::pin(std::future::ready(Ok(accepted)))
    }
}
