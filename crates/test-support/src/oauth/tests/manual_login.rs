//! A minimal OAuth client: every step of a login, one request each.

use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::http::Request;

use crate::oauth::SignInResult;

pub(super) const VERIFIER: &str = "a-verifier-that-is-long-enough-for-the-rule-of-43";

#[derive(Debug)]
pub(super) struct EndpointAnswer {
    pub(super) status: u16,
    pub(super) challenge: String,
    pub(super) headers: ureq::http::HeaderMap,
    pub(super) text: String,
}

impl EndpointAnswer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    pub(super) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

pub(super) fn try_send(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<EndpointAnswer, ureq::Error> {
    let config = Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(20)))
        .max_redirects(0)
        .http_status_as_error(false)
        .proxy(None)
        .build();
    let agent = Agent::new_with_config(config);
    let request = headers
        .iter()
        .fold(Request::builder().method(method).uri(url), |request, (name, value)| {
            request.header(*name, *value)
        });
    let mut answer = if method == "GET" {
        agent.run(request.body(())?)?
    } else {
        agent.run(request.body(body.to_owned())?)?
    };
    let challenge = answer.headers().get("www-authenticate");
    let challenge = challenge.map_or("", |challenge| challenge.to_str().unwrap()).to_owned();
    let headers = answer.headers().clone();
    let text = answer.body_mut().with_config().limit(16 << 20).read_to_string()?;
    Ok(EndpointAnswer { status: answer.status().as_u16(), challenge, headers, text })
}

pub(super) fn get(url: &str) -> EndpointAnswer {
    try_send("GET", url, &[], "").unwrap()
}

pub(super) fn post_json(url: &str, body: &Value) -> EndpointAnswer {
    try_send("POST", url, &[("content-type", "application/json")], &body.to_string()).unwrap()
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

pub(super) fn post_form(url: &str, fields: &[(&str, &str)]) -> EndpointAnswer {
    post_form_with(url, fields, &[])
}

pub(super) fn post_form_with(
    url: &str,
    fields: &[(&str, &str)],
    headers: &[(&str, &str)],
) -> EndpointAnswer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    try_send("POST", url, &[&[FORM], headers].concat(), &body).unwrap()
}

/// Calls a tool with a token, in a session if the server has any; a refused handshake is the
/// answer.
pub(super) fn call_tool(url: &str, token: &str, tool: &str) -> EndpointAnswer {
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "by hand", "version": "1" } });
    let welcome = post_message(url, token, "", ("initialize", hello));
    if welcome.status != 200 {
        return welcome;
    }
    let session = welcome.headers.get("mcp-session-id").map_or("", |id| id.to_str().unwrap());
    let call = json!({ "name": tool, "arguments": { "text": "hello" } });
    post_message(url, token, session, ("tools/call", call))
}

fn post_message(
    url: &str,
    token: &str,
    session: &str,
    (method, params): (&str, Value),
) -> EndpointAnswer {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let authorization = format!("Bearer {token}");
    let mut headers = vec![
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    if !session.is_empty() {
        headers.push(("mcp-session-id", session));
    }
    try_send("POST", url, &headers, &message.to_string()).unwrap()
}

/// A client with the endpoints of its server.
#[derive(Debug, Clone)]
pub(super) struct ManualClient {
    pub(super) metadata: Value,
    pub(super) id: String,
    pub(super) redirect_uri: String,
    pub(super) resource: String,
}

impl ManualClient {
    /// Discovers the authorization server of an MCP server by its 401, and registers there.
    pub(super) fn registered(mcp_url: &str) -> Self {
        let mut oauth = Self::unregistered(mcp_url);
        let client = json!({ "redirect_uris": [oauth.redirect_uri], "application_type": "native",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "token_endpoint_auth_method": "none", "client_name": "by hand" });
        let registered = post_json(oauth.at("registration_endpoint"), &client);
        assert_eq!(registered.status, 201, "{}", registered.text);
        oauth.id = registered.json()["client_id"].as_str().unwrap().to_owned();
        oauth
    }

    /// Discovers the authorization server of an MCP server by its 401.
    pub(super) fn unregistered(mcp_url: &str) -> Self {
        let refused = post_json(mcp_url, &json!({}));
        assert_eq!(refused.status, 401, "{}", refused.text);
        let about = refused.challenge.split_once("resource_metadata=\"").unwrap().1;
        let resource = get(about.split('"').next().unwrap()).json();
        assert_eq!(resource["resource"], mcp_url);
        let issuer = resource["authorization_servers"][0].as_str().unwrap();
        let metadata = get(&format!("{issuer}/.well-known/oauth-authorization-server")).json();
        assert_eq!(metadata["issuer"], issuer);
        assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
        let resource = mcp_url.to_owned();
        Self { metadata, id: String::new(), redirect_uri: listen(), resource }
    }

    pub(super) fn at(&self, endpoint: &str) -> &str {
        self.metadata[endpoint].as_str().unwrap()
    }

    /// The authorization URL.
    pub(super) fn authorization(&self, scope: &str) -> String {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        // `offline_access` is granted only with a consent prompt.
        let prompt = scope.contains("offline_access").then_some(("prompt", "consent"));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(prompt)
            .extend_pairs([
                ("client_id", self.id.as_str()),
                ("redirect_uri", &self.redirect_uri),
                ("response_type", "code"),
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
                ("state", "the-state"),
                ("scope", scope),
                ("resource", &self.resource),
            ])
            .finish();
        format!("{}?{query}", self.at("authorization_endpoint"))
    }

    pub(super) fn exchange(&self, landed: &SignInResult) -> EndpointAnswer {
        self.exchange_with(landed, &[])
    }

    pub(super) fn exchange_with(
        &self,
        landed: &SignInResult,
        headers: &[(&str, &str)],
    ) -> EndpointAnswer {
        assert!(landed.url.starts_with(&self.redirect_uri), "{landed:?}");
        assert_eq!(landed.parameter("state").as_deref(), Some("the-state"));
        let code = landed.parameter("code").unwrap();
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("client_id", &self.id),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", VERIFIER),
            ("resource", &self.resource),
        ];
        post_form_with(self.at("token_endpoint"), &fields, headers)
    }

    pub(super) fn refresh(&self, token: &str) -> EndpointAnswer {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", &self.id),
            ("resource", &self.resource),
        ];
        post_form(self.at("token_endpoint"), &fields)
    }

    /// Completes a login, a tool call and a refresh, as at every correct server.
    pub(super) fn complete_login(&self, landed: &SignInResult) {
        assert!(landed.text.contains("you are back"), "{landed:?}");
        let first = self.exchange(landed);
        assert_eq!(first.status, 200, "{}", first.text);
        let (access, refresh) = tokens(&first);
        let called = call_tool(&self.resource, &access, "echo");
        assert!(called.status == 200 && called.text.contains("hello"), "{called:?}");
        assert_eq!(call_tool(&self.resource, "made-up", "echo").status, 401);

        let second = self.refresh(&refresh);
        assert_eq!(second.status, 200, "{}", second.text);
        let (newer_access, newer_refresh) = tokens(&second);
        assert_ne!((&access, &refresh), (&newer_access, &newer_refresh), "both are new");
        assert_eq!(call_tool(&self.resource, &newer_access, "echo").status, 200);

        let reused = self.refresh(&refresh);
        assert_eq!((reused.status, reused.error().as_str()), (400, "invalid_grant"));
        let ended = self.refresh(&newer_refresh);
        assert_eq!(
            (ended.status, ended.error().as_str()),
            (400, "invalid_grant"),
            "reuse ends all"
        );
        assert_eq!(call_tool(&self.resource, &newer_access, "echo").status, 401);
        let replayed = self.exchange(landed);
        assert_eq!((replayed.status, replayed.error().as_str()), (400, "invalid_grant"));
    }
}

/// The access token and the refresh token of a response.
pub(super) fn tokens(answer: &EndpointAnswer) -> (String, String) {
    let word = |name: &str| answer.json()[name].as_str().unwrap_or_default().to_owned();
    (word("access_token"), word("refresh_token"))
}

/// Accepts the redirect.
fn listen() -> String {
    use crate::http::{Reply, Request};
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}/callback", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while let Ok(Some(_)) = Request::read(&mut reader) {
                let _ = Reply::text(200, "you are back").write(&stream);
            }
        }
    });
    address
}
