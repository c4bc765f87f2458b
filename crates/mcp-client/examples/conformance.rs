//! The client that the official conformance suite drives: the scenario and the version come by
//! environment, the address of its server as the last argument.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::config::{
    Auth, Endpoint, Flow, HttpEndpoint, OauthOptions, Protocol, ServerEntry, Text,
};
use mcp_client::host::{
    BoxFuture, Browser, Host, RequestHandler, ServerRequest, SignInPage, SignInReply,
};
use mcp_client::session::{CallOptions, ConnectStep, Session};
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
    let scenario = word("MCP_CONFORMANCE_SCENARIO");
    let context = word("MCP_CONFORMANCE_CONTEXT");
    let tokens = tempfile::tempdir()?;
    let mut endpoint = HttpEndpoint::new(url);
    endpoint.skip_preflight = true;
    if scenario.starts_with("auth/") {
        endpoint.auth = Auth::OAuth(Box::new(oauth(&scenario, &context, tokens.path())?));
    }
    let mut entry = ServerEntry::new("suite", Endpoint::Http(Box::new(endpoint)));
    entry.connect_timeout = Duration::from_secs(20);
    entry.timeout = Duration::from_secs(20);
    if word("MCP_CONFORMANCE_PROTOCOL_VERSION") == mcp_client::protocol::STATELESS_VERSION {
        entry.protocol = Protocol::Stateless;
    }
    let host = Host {
        requests: Arc::new(Accept),
        token_dir: Some(tokens.path().to_owned()),
        client_document: Some(DOCUMENT.to_owned()),
        browser: Some(Arc::new(Consent)),
        ..Host::bare(variables.clone())
    };
    let client = Client::start([], host);
    let session = client.connect_unsupervised(&entry, &|_: ConnectStep| {}).await?;
    let done = play(&session, &scenario, &context).await;
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
        // The second list meets a token that no longer counts.
        "auth/authorization-server-migration" => session.list_tools().await.map(drop)?,
        auth if auth.starts_with("auth/") => {
            for tool in &tools {
                call(session, tool, &json!({})).await?;
            }
        }
        unknown => return Err(format!("unknown scenario {unknown}").into()),
    }
    Ok(())
}

/// What the suite says about the client it expects.
fn oauth(scenario: &str, context: &str, folder: &Path) -> Result<OauthOptions, std::io::Error> {
    let context: Value = serde_json::from_str(context).unwrap_or_default();
    let text = |key: &str| context.get(key).and_then(Value::as_str).map(Text::literal);
    let flow = match scenario {
        "auth/client-credentials-basic" | "auth/client-credentials-jwt" => Flow::ClientCredentials,
        "auth/wif-jwt-bearer" => Flow::Workload,
        "auth/enterprise-managed-authorization" => Flow::Enterprise,
        _ => Flow::Browser,
    };
    let private_key = match text("private_key_pem") {
        Some(pem) => {
            let path = folder.join("key.pem");
            std::fs::write(&path, pem.value())?;
            Some(Text::literal(path.to_string_lossy()))
        }
        None => None,
    };
    Ok(OauthOptions {
        flow,
        // The suite plays all scenarios at once, and a document has only five ports: they are for
        // the one that looks for it.
        cimd: (scenario != "auth/basic-cimd").then_some(false),
        private_key,
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        assertion: text("valid_jwt").or_else(|| text("idp_id_token")),
        idp_client_id: text("idp_client_id"),
        idp_token_endpoint: text("idp_token_endpoint"),
        ..OauthOptions::default()
    })
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

/// The client document that the suite knows.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Consents at once: visits the page, and goes where it is sent.
#[derive(Debug)]
struct Consent;

impl Browser for Consent {
    fn open_sign_in(&self, visit: SignInPage) -> BoxFuture<SignInReply> {
        Box::pin(async move {
            let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
            let sent = async {
                let client = client.build()?;
                let page = client.get(visit.address).send().await?;
                let back = page.headers().get("location").and_then(|to| to.to_str().ok());
                let back = back.unwrap_or_default().to_owned();
                client.get(back).send().await?.text().await
            };
            match sent.await {
                // The listener is notified.
                Ok(_) => std::future::pending().await,
                Err(_) => SignInReply::Cancelled,
            }
        })
    }
}

/// Accepts every form with its defaults, and confirms.
#[derive(Debug)]
struct Accept;

impl RequestHandler for Accept {
    fn capabilities(&self, _: &ServerEntry) -> Value {
        json!({ "elicitation": { "form": {} } })
    }

    fn answer(&self, request: ServerRequest) -> BoxFuture<Result<Value, RpcError>> {
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
