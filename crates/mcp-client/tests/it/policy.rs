//! Policy: what needs a person's yes, what is registered, and that no secret gets out.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_test_support::mcp::example;
use agent_test_support::mcp::hostile::{Behaviour, HostileHttp};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_client::Client;
use mcp_client::config::{Configured, Scope, Severity, Trust, parse};
use mcp_client::error::Error;
use mcp_client::host::{ApprovalDecision, ApprovalRequest, Approver, BoxFuture, Host};
use mcp_client::redact::Redactor;
use mcp_client::session::CallOptions;
use mcp_client::supervisor::ServerState;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{call, host, http, names};

/// A server that quotes what it was sent wherever it can; gives its address and what was called.
async fn quoting() -> (String, Arc<Mutex<Vec<String>>>) {
    let called = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&called);
    let app = axum::Router::new().fallback(move |request: Request| {
        let log = Arc::clone(&log);
        async move { quote(request, &log).await }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, called)
}

async fn quote(request: Request, log: &Mutex<Vec<String>>) -> Response {
    let (head, body) = request.into_parts();
    let mut echo = head.uri.to_string();
    for (name, value) in &head.headers {
        let value = value.to_str().unwrap();
        let _ = write!(echo, " {name}={value} {}", STANDARD.encode(value));
    }
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return answer(405, String::new());
    };
    if message.get("id").is_none() {
        return answer(202, String::new());
    }
    let tool = |name: &str, annotations: Value| {
        json!({ "name": name, "description": format!("tool {name}"),
            "inputSchema": { "type": "object" }, "annotations": annotations })
    };
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({ "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
            "serverInfo": { "name": echo, "version": "1" } }),
        "tools/list" => json!({ "tools": [
            tool("look", json!({ "readOnlyHint": true })),
            tool("write", json!({})),
            tool("erase", json!({ "readOnlyHint": false })),
            tool("sly", json!({ "readOnlyHint": "true" })),
            tool("fail", json!({})),
            tool("status", json!({})),
            tool("forbid", json!({})),
        ] }),
        "tools/call" => {
            let name = message["params"]["name"].as_str().unwrap();
            log.lock().unwrap().push(name.to_owned());
            match name {
                "fail" => {
                    let error = json!({ "code": -32000, "message": echo, "data": [echo] });
                    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
                    return answer(200, body.to_string());
                }
                "status" => return answer(500, echo),
                "forbid" => {
                    let mut response = answer(403, echo.clone());
                    let challenge = format!("Bearer realm=\"{}\"", echo.replace('"', ""));
                    let challenge = challenge.parse().unwrap();
                    response.headers_mut().insert("www-authenticate", challenge);
                    return response;
                }
                _ => {}
            }
            let link = json!({ "type": "resource_link", "uri": format!("x://{echo}"),
                "name": echo, "description": echo });
            json!({ "content": [{ "type": "text", "text": echo }, link],
                "structuredContent": { "echo": [echo] } })
        }
        "resources/list" => json!({ "resources": [{ "uri": "x://a", "name": echo }] }),
        "prompts/list" => json!({ "prompts": [] }),
        _ => json!({}),
    };
    answer(200, json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string())
}

fn answer(status: u16, body: String) -> Response {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body)).unwrap()
}

/// Says yes or no and remembers what it was asked.
#[derive(Debug)]
struct Person(ApprovalDecision, Mutex<Vec<ApprovalRequest>>);

impl Approver for Person {
    fn decide(&self, approval: ApprovalRequest) -> BoxFuture<ApprovalDecision> {
        self.1.lock().unwrap().push(approval);
        Box::pin(std::future::ready(self.0))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_an_untrusted_server_only_reads_need_no_approval() {
    let (url, called) = quoting().await;
    let mut entry = http("q", &url);
    entry.trust = Trust::Untrusted;
    let (nobody, _) = host();
    let client = Client::start([entry.clone()], nobody);
    client.wait_until_settled(Duration::from_secs(20)).await;
    for tool in ["write", "erase", "sly"] {
        let name = format!("mcp__q__{tool}");
        let error = client.call(&name, json!({}), CallOptions::default()).await.unwrap_err();
        assert!(matches!(&error, Error::NotApproved { tool } if *tool == name), "{error:?}");
    }
    assert!(called.lock().unwrap().is_empty(), "what was not approved was not sent");
    for tool in ["look", "list_resources", "list_prompts"] {
        call(&client, &format!("mcp__q__{tool}"), json!({})).await;
    }
    assert_eq!(*called.lock().unwrap(), ["look"]);
    client.close().await;

    for (decision, ran) in
        [(ApprovalDecision::Deny, &["look"][..]), (ApprovalDecision::Allow, &["look", "write"])]
    {
        let person = Arc::new(Person(decision, Mutex::default()));
        let (plain, _) = host();
        let asking = Host { approver: Arc::clone(&person) as Arc<dyn Approver>, ..plain };
        let client = Client::start([entry.clone()], asking);
        client.wait_until_settled(Duration::from_secs(20)).await;
        called.lock().unwrap().clear();
        call(&client, "mcp__q__look", json!({})).await;
        call(&client, "mcp__q__list_resources", json!({})).await;
        assert!(person.1.lock().unwrap().is_empty(), "nobody is asked about reading");
        let asked = json!({ "path": "/tmp/x", "n": 1 });
        let outcome = client.call("mcp__q__write", asked.clone(), CallOptions::default()).await;
        assert_eq!(outcome.is_ok(), decision == ApprovalDecision::Allow);
        assert_eq!(*called.lock().unwrap(), ran);
        let seen: Vec<_> = person.1.lock().unwrap().drain(..).collect();
        let [one] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!(
            (&*one.server, &*one.tool, &*one.native_name, &*one.description, &one.arguments),
            ("q", "mcp__q__write", "write", "tool write", &asked)
        );
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_trusted_server_no_call_needs_approval() {
    let (url, called) = quoting().await;
    let (refusing, _) = host();
    let client = Client::start([http("q", &url)], refusing);
    client.wait_until_settled(Duration::from_secs(20)).await;
    call(&client, "mcp__q__write", json!({})).await;
    assert_eq!(*called.lock().unwrap(), ["write"]);
    client.close().await;
}

/// The values, each in what a scope or a file holds.
const SECRETS: &[(&str, &str)] = &[
    ("ENV", "env-Ax9/+\"q 7781"),
    ("ARG", "arg-Bx9kk-7782"),
    ("HDR", "hdr-Cx9/+=kk-7783"),
    ("QRY", "qry-Dx9kk-7784"),
    ("LITERAL", "lit-Ex9kk-7785"),
];

fn configured(text: &str) -> Vec<Configured> {
    let secrets = SECRETS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let scope = Scope { secrets: secrets.collect(), ..Scope::default() };
    let parsed = parse(text, &scope);
    let wrong = parsed.problems.iter().any(|problem| problem.severity == Severity::Error);
    assert!(!wrong, "{:?}", parsed.problems);
    parsed.servers
}

/// Fails if the text contains a secret, as it is or in base64.
fn clean(what: &str, text: &str) {
    for (name, value) in SECRETS {
        let escaped = json!(value).to_string();
        let forms = [*value, escaped.trim_matches('"'), &STANDARD.encode(value)];
        for form in forms {
            let form = form.trim_end_matches('=');
            if let Some(at) = text.find(form) {
                let around: String = text[..at].chars().rev().take(80).collect();
                let around: String = around.chars().rev().collect();
                panic!("{what}: {name} after …{around}");
            }
        }
    }
}

fn files_in(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// Runs servers, calls everything they have, and looks at all that comes of it. Gives it back.
async fn all_output(servers: Vec<Configured>) -> String {
    clean("the configuration", &format!("{servers:?}"));
    let known = servers.iter().flat_map(|server| &server.secrets);
    let known = known.map(|secret| (secret.label.clone(), secret.value().to_owned()));
    let (logs, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (plain, notebook) = host();
    let host = Host {
        redactor: Arc::new(Redactor::new(known)),
        log_dir: Some(logs.path().to_owned()),
        cache_dir: Some(cache.path().to_owned()),
        ..plain
    };
    let entries: Vec<_> = servers.into_iter().map(|server| server.entry).collect();
    let client = Client::start(entries, host);
    client.wait_until_settled(Duration::from_secs(30)).await;
    let mut all = String::new();
    for name in names(&client) {
        match client
            .call(&name, json!({ "uri": "x://a", "name": "a" }), CallOptions::default())
            .await
        {
            Ok(outcome) => {
                let text = mcp_client::content::render(&outcome).text;
                let _ = write!(all, "\n{name}: {outcome:?} {text}");
            }
            Err(error) => {
                let _ = write!(all, "\n{name}: {error:?} {error}");
            }
        }
    }
    for status in client.status() {
        let _ = write!(all, "\nstatus: {status:?} {}", status.state);
        if let Some(failure) = &status.failure {
            let _ = write!(all, " {failure}");
        }
    }
    let _ = write!(all, "\nregistry: {:?}", client.registry());
    client.close().await;
    let _ = write!(all, "\nevents: {:?}", notebook.events());
    let _ = write!(all, "\nlogs: {}", files_in(logs.path()));
    let _ = write!(all, "\ncache: {}", files_in(cache.path()));
    for line in all.split('\n') {
        clean(line.split(':').next().unwrap_or_default(), line);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_quoted_by_a_remote_server_are_redacted() {
    let (url, called) = quoting().await;
    let text = format!(
        "mcp_servers:\n  q:\n    url: '{url}?token=${{QRY}}&api_key=lit-Ex9kk-7785'\n    lazy: true\n    \
         headers:\n      Authorization: 'Bearer ${{HDR}}'\n      X-Api-Key: lit-Ex9kk-7785\n"
    );
    let all = all_output(configured(&text)).await;
    assert_eq!(called.lock().unwrap().len(), 7, "every tool was called");
    for label in ["Authorization", "QRY", "api_key"] {
        assert!(all.contains(&format!("[redacted:{label}]")), "{label} was never quoted: {all}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_quoted_by_a_local_server_are_redacted() {
    let hostile = example("hostile");
    let mut text = "mcp_servers:\n".to_owned();
    // Arguments are quoted by the shell: as noise, and on standard error.
    let line = "echo \"noise $1 $2\"; echo \"said $1 $2\" >&2; exec \"$0\" stdio \"$3\"";
    for behaviour in ["report", "stderr-secret", "die-with-secret", "die-mid-call"] {
        let _ = write!(
            text,
            "  {behaviour}:\n    command: sh\n    lazy: true\n    \
             args: ['-c', '{line}', '{}', '${{ARG}}', '--token=lit-Ex9kk-7785', {behaviour}]\n    \
             env: {{HOSTILE_SECRET: '${{ENV}}', API_TOKEN: lit-Ex9kk-7785}}\n",
            hostile.display()
        );
    }
    let all = all_output(configured(&text)).await;
    for label in ["ENV", "ARG"] {
        assert!(all.contains(&format!("[redacted:{label}]")), "{label} was never quoted: {all}");
    }
    assert!(all.contains("logs: --- "), "there are logs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_tools_that_pass_the_filters_are_registered() {
    const ALL: &[&str] =
        &["good", "other", "list_resources", "read_resource", "list_prompts", "get_prompt"];
    for (policy, wanted) in [
        ("{}", ALL),
        (
            "{include: good}",
            &["good", "list_resources", "read_resource", "list_prompts", "get_prompt"],
        ),
        (
            "{exclude: [g*]}",
            &["other", "list_resources", "read_resource", "list_prompts", "get_prompt"],
        ),
        (
            "{include: [g*], exclude: [good], prompts: 'off'}",
            &["good", "list_resources", "read_resource"],
        ),
        ("{include: [], resources: no}", &["list_prompts", "get_prompt"]),
        ("{include: [], prompts: false}", &["list_resources", "read_resource"]),
        ("{include: [], resources: false, prompts: 0}", &[]),
        ("{exclude: ['*'], resources: false, prompts: false}", &[]),
    ] {
        let server = HostileHttp::start(Behaviour::Correct).unwrap();
        let text = format!("mcp_servers: {{h: {{url: '{}', tools: {policy}}}}}", server.url);
        let (plain, _) = host();
        let client = Client::start([configured(&text)[0].entry.clone()], plain);
        let status = client.wait_until_server_settled("h", Duration::from_secs(20)).await.unwrap();
        assert_eq!((status.state, status.tools), (ServerState::Ready, wanted.len()), "{policy}");
        let wanted: Vec<String> = wanted.iter().map(|name| format!("mcp__h__{name}")).collect();
        assert_eq!(names(&client), wanted, "{policy}");
        let error = client.call("mcp__h__gone", json!({}), CallOptions::default()).await;
        assert!(matches!(error, Err(Error::UnknownTool { .. })));
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn utilities_need_the_capability_and_disabled_servers_are_idle() {
    let server = HostileHttp::start(Behaviour::NoServerInfo).unwrap();
    let off = HostileHttp::start(Behaviour::Correct).unwrap();
    let text = format!(
        "mcp_servers: {{h: {{url: '{}'}}, off: {{url: '{}', enabled: false}}}}",
        server.url, off.url
    );
    let (plain, notebook) = host();
    let client = Client::start(configured(&text).into_iter().map(|server| server.entry), plain);
    client.wait_until_settled(Duration::from_secs(20)).await;
    assert_eq!(names(&client), ["mcp__h__good", "mcp__h__other"]);
    assert_eq!(client.status()[1].state, ServerState::Disabled);
    client.close().await;
    assert!(off.requests().is_empty());
    assert!(!format!("{:?}", notebook.events()).contains("\"off\""));
}
