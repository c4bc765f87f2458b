//! A scripted authorization server with faults, and an MCP server behind it.

mod endpoints;
mod grant_store;
mod mcp_server;
mod script;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::RecordedRequest;
use crate::http::{AfterReply, Replied, Reply, Request, hold, serve};
use crate::wait::lock;
use endpoints::{EndpointAnswer, EndpointRequest, Origins};
use grant_store::GrantStore;
use script::merge;
pub use script::{Challenge, Endpoint, Fault, Issuer, RedirectChange, Refresh, Script};

/// Maximum number of requests kept; the oldest are dropped.
const MAX_REQUESTS: usize = 10_000;
/// Size of a [`Fault::Huge`] response.
const HUGE_BYTES: usize = 5 * 1024 * 1024;

/// A server with a switch for every fault; it serves until the process ends.
///
/// - **MCP server** at [`mcp_url`](Self::mcp_url): Streamable HTTP with handshake, plain JSON
///   responses and no sessions. Tools: `echo(text)`, and `write(text)` which needs the scope
///   `mcp:write`. It accepts only tokens that were issued here for this resource.
/// - **Two authorization servers**, at [`issuer`](Self::issuer) (the origin of the MCP server) and
///   [`other_url`](Self::other_url), with the same script, clients and endpoints; the MCP server
///   names and trusts the first, or the other by [`Script::issuer`]. When correct: registration,
///   PKCE with S256, `iss` on redirects, single-use codes (a repeated one ends its login), rotating
///   refresh tokens with reuse detection, and revocation. A program that signs in with its own
///   credentials or an assertion, which is not verified, gets no refresh token. Secrets are checked
///   by the method that a client registered, or by any if its registration names none.
/// - There are no pages: [`visit`](super::visit) of an authorization URL is a whole login. A
///   `redirect_uri` must be registered with its port.
/// - Everything in the [`Script`] can be changed while it runs.
///
/// ```
/// use agent_test_support::oauth::{Endpoint, Fault, FaultyAuthServer, Script};
///
/// let server = FaultyAuthServer::start(Script::default()).unwrap();
/// server.change(|script| script.token = Endpoint::failing_times(1, Fault::status(503)));
/// assert!(server.requests().is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct FaultyAuthServer {
    server: Arc<ServerState>,
}

#[derive(Debug)]
struct ServerState {
    origins: Origins,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    script: Script,
    grants: GrantStore,
    log: Vec<RecordedRequest>,
}

impl FaultyAuthServer {
    pub fn start(script: Script) -> std::io::Result<Self> {
        let main = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let place = |listener: &TcpListener| {
            listener.local_addr().map(|address| format!("http://{address}"))
        };
        let origins = Origins { main: place(&main)?, other: place(&other)? };
        let mut grants = GrantStore::default();
        for client in &script.clients {
            let id = client["client_id"].as_str().unwrap_or_default().to_owned();
            grants.clients.insert(id, client.clone());
        }
        let state = Mutex::new(State { script, grants, log: Vec::new() });
        let server = Arc::new(ServerState { origins, state });
        for (listener, issuer) in [(main, Issuer::Main), (other, Issuer::Other)] {
            let server = Arc::clone(&server);
            serve(listener, move |request, stream| {
                let fault = lock(&server.state).record(request, issuer);
                server.respond(request, issuer, fault.as_ref(), stream)
            });
        }
        Ok(Self { server })
    }

    pub fn mcp_url(&self) -> String {
        self.server.origins.mcp()
    }

    /// The authorization server at the origin of the MCP server.
    pub fn issuer(&self) -> &str {
        &self.server.origins.main
    }

    /// The other authorization server, which is also the target of [`Fault::Redirect`].
    pub fn other_url(&self) -> &str {
        &self.server.origins.other
    }

    pub fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut lock(&self.server.state).script);
    }

    /// All requests so far, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.server.state).log.clone()
    }

    /// The requests to one path so far, at either origin.
    pub fn requests_to(&self, route: &str) -> Vec<RecordedRequest> {
        self.requests().into_iter().filter(|seen| seen.route() == route).collect()
    }

    pub fn forget_requests(&self) {
        lock(&self.server.state).log.clear();
    }

    /// All clients, as they registered.
    pub fn clients(&self) -> Vec<Value> {
        lock(&self.server.state).grants.clients.values().cloned().collect()
    }

    /// Removes all clients: the token endpoint answers `invalid_client` with 401.
    pub fn forget_clients(&self) {
        lock(&self.server.state).grants.clients.clear();
    }

    /// Makes all access tokens so far invalid; refresh tokens stay valid.
    pub fn expire_access_tokens(&self) {
        lock(&self.server.state).grants.expire_access();
    }

    /// Removes all tokens and codes.
    pub fn revoke_everything(&self) {
        lock(&self.server.state).grants.revoke_everything();
    }
}

impl ServerState {
    fn respond(
        &self,
        request: &Request,
        issuer: Issuer,
        fault: Option<&Fault>,
        stream: &mut TcpStream,
    ) -> Replied {
        // Rejected before anything is done.
        let refusal = match fault {
            Some(Fault::Refuse { status, error, description }) => {
                endpoints::refuse(*status, error, description).into_reply()
            }
            Some(Fault::Status { status, retry_after }) => {
                let reply = Reply::text(*status, "not now");
                match retry_after {
                    Some(seconds) => reply.header("Retry-After", &seconds.to_string()),
                    None => reply,
                }
            }
            Some(Fault::Page(status)) => Reply::page(*status),
            Some(Fault::Redirect(status)) => {
                let target = format!("{}{}", self.origins.other, request.path);
                Reply::empty(*status).header("Location", &target)
            }
            Some(Fault::Silent) => {
                hold(stream);
                return Ok(AfterReply::Close);
            }
            Some(Fault::HangUp) => return Ok(AfterReply::Close),
            _ => return self.act(request, issuer, fault, stream),
        };
        refusal.for_method(&request.method).write(stream)
    }

    /// Handles the request; a fault may truncate the response.
    fn act(
        &self,
        request: &Request,
        issuer: Issuer,
        fault: Option<&Fault>,
        stream: &mut TcpStream,
    ) -> Replied {
        if let Some(Fault::Late(delay)) = fault {
            thread::sleep(*delay);
        }
        let answer = self.answer(request, issuer);
        let (status, body) = match answer {
            EndpointAnswer::Other(reply) if fault != Some(&Fault::Lost) => {
                return reply.for_method(&request.method).write(stream);
            }
            EndpointAnswer::Other(_) => return Ok(AfterReply::Close),
            EndpointAnswer::Json(status, body) => (status, body),
        };
        let whole = body.to_string();
        let half = &whole.as_bytes()[..whole.len() / 2];
        match fault {
            Some(Fault::Lost) => return Ok(AfterReply::Close),
            Some(Fault::CutOff) => {
                let length = whole.len();
                let head = format!(
                    "HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\n\
                     Content-Length: {length}\r\n\r\n"
                );
                stream.write_all(&[head.as_bytes(), half].concat())?;
                return Ok(AfterReply::Close);
            }
            Some(Fault::Truncated) => Reply::json(status, half),
            Some(Fault::Huge) => {
                let mut body = body;
                merge(&mut body, &json!({ "padding": "x".repeat(HUGE_BYTES) }));
                Reply::json(status, body.to_string())
            }
            _ => Reply::json(status, whole).header("Cache-Control", "no-store"),
        }
        .for_method(&request.method)
        .write(stream)
    }

    fn answer(&self, request: &Request, issuer: Issuer) -> EndpointAnswer {
        let mut state = lock(&self.state);
        let State { script, grants, .. } = &mut *state;
        let mut asked = EndpointRequest { grants, script, origins: &self.origins, request, issuer };
        let path = path_at(request, issuer);
        let mut answer = match path {
            RESOURCE_METADATA | MCP_METADATA => asked.resource_metadata(),
            SERVER_METADATA | OPENID_METADATA => asked.server_metadata(),
            "/register" => asked.register(),
            "/authorize" => asked.authorize(),
            "/token" => asked.token(),
            "/device_authorization" => asked.authorize_device(),
            "/revoke" => asked.revoke(),
            "/mcp" => mcp_server::answer(&asked),
            _ => EndpointAnswer::Other(Reply::text(404, "not here")),
        };
        if let EndpointAnswer::Json(200 | 201, body) = &mut answer
            && let Some(endpoint) = script.endpoint(path)
        {
            merge(body, &endpoint.patch);
        }
        answer
    }
}

impl State {
    /// Records a request and returns its fault.
    fn record(&mut self, request: &Request, issuer: Issuer) -> Option<Fault> {
        let mut record = request.record(issuer);
        record["form"] = endpoints::form(request).into();
        self.log.extend(serde_json::from_value::<RecordedRequest>(record).ok());
        if self.log.len() > MAX_REQUESTS {
            self.log.remove(0);
        }
        self.script.endpoint(path_at(request, issuer))?.next_fault()
    }
}

const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";
const MCP_METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
const SERVER_METADATA: &str = "/.well-known/oauth-authorization-server";
const OPENID_METADATA: &str = "/.well-known/openid-configuration";

/// The path of a request without its query; empty if only the main origin has it.
fn path_at(request: &Request, issuer: Issuer) -> &str {
    let path = request.path.split('?').next().unwrap_or_default();
    let is_at_main = matches!(path, "/mcp" | RESOURCE_METADATA | MCP_METADATA);
    if is_at_main && issuer != Issuer::Main { "" } else { path }
}

impl Script {
    fn endpoint(&mut self, path: &str) -> Option<&mut Endpoint> {
        Some(match path {
            RESOURCE_METADATA | MCP_METADATA => &mut self.resource_metadata,
            SERVER_METADATA | OPENID_METADATA => &mut self.server_metadata,
            "/register" => &mut self.registration,
            "/authorize" => &mut self.authorization,
            "/token" => &mut self.token,
            "/device_authorization" => &mut self.device_authorization,
            "/revoke" => &mut self.revocation,
            "/mcp" => &mut self.mcp,
            _ => return None,
        })
    }
}

impl EndpointAnswer {
    fn into_reply(self) -> Reply {
        match self {
            Self::Json(status, body) => Reply::json(status, body.to_string()),
            Self::Other(reply) => reply,
        }
    }
}
