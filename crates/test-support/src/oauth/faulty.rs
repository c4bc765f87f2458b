//! An authorization server that fails as it is told, and an MCP server behind it.

mod endpoints;
mod guarded;
mod script;
mod vault;

use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::Seen;
use crate::http::{Reply, Request, hold};
use endpoints::{Answer, Places};
use script::merge;
pub use script::{Challenge, Endpoint, Fault, Issuer, Refresh, Script, Twist};
use vault::Vault;

/// How many requests are remembered; the oldest are forgotten.
const MAX_REQUESTS: usize = 10_000;

/// How long [`Fault::Huge`] makes an answer.
const HUGE_BYTES: usize = 5 * 1024 * 1024;

/// A server with a switch for every way to be wrong; it serves until the process ends.
///
/// - **MCP server** at [`mcp_url`](Self::mcp_url): Streamable HTTP in the handshake era, with plain
///   JSON answers and no sessions. Tools: `echo(text)`, and `write(text)` which needs the scope
///   `mcp:write`. It takes only tokens that were issued here for this resource.
/// - **Two authorization servers**, at [`issuer`](Self::issuer) (the origin of the MCP server) and
///   [`other_url`](Self::other_url), with the same script, clients and endpoints; the MCP server names
///   and believes the first, or the other by [`Script::issuer`]. When correct: registration, PKCE with
///   S256, `iss` on redirects, single-use codes (one that comes twice ends its login), rotating refresh
///   tokens with reuse detection, revocation. Secrets are checked by the method that a client
///   registered for, or by any if its registration names none.
/// - It asks nobody: [`visit`](super::visit) of an authorization address is a whole login. A
///   `redirect_uri` must be registered with its port.
/// - Everything in the [`Script`] can be changed while it runs.
///
/// ```
/// use agent_test_support::oauth::{Endpoint, Fault, Faulty, Script};
///
/// let server = Faulty::start(Script::default()).unwrap();
/// server.change(|script| script.token = Endpoint::failing_times(1, Fault::status(503)));
/// assert!(server.requests().is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct Faulty {
    site: Arc<Site>,
}

#[derive(Debug)]
struct Site {
    places: Places,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    script: Script,
    vault: Vault,
    log: Vec<Seen>,
}

/// What becomes of the connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    KeepOpen,
    Close,
}

impl Faulty {
    /// Starts it on free ports of the loopback interface.
    ///
    /// # Errors
    /// If no port can be had.
    pub fn start(script: Script) -> std::io::Result<Self> {
        let main = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let place = |listener: &TcpListener| {
            listener.local_addr().map(|address| format!("http://{address}"))
        };
        let places = Places { main: place(&main)?, other: place(&other)? };
        let mut vault = Vault::default();
        for client in &script.clients {
            let id = client["client_id"].as_str().unwrap_or_default().to_owned();
            vault.clients.insert(id, client.clone());
        }
        let state = Mutex::new(State { script, vault, log: Vec::new() });
        let site = Arc::new(Site { places, state });
        for (listener, issuer) in [(main, Issuer::Main), (other, Issuer::Other)] {
            let site = Arc::clone(&site);
            thread::spawn(move || accept(&site, &listener, issuer));
        }
        Ok(Self { site })
    }

    /// The MCP server.
    pub fn mcp_url(&self) -> String {
        self.site.places.mcp()
    }

    /// The authorization server at the origin of the MCP server.
    pub fn issuer(&self) -> &str {
        &self.site.places.main
    }

    /// The other authorization server, which is also where [`Fault::Redirect`] leads.
    pub fn other_url(&self) -> &str {
        &self.site.places.other
    }

    /// Changes the script.
    pub fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.site.state().script);
    }

    /// All requests so far, oldest first.
    pub fn requests(&self) -> Vec<Seen> {
        self.site.state().log.clone()
    }

    /// The requests to one path so far, at either origin.
    pub fn requests_to(&self, route: &str) -> Vec<Seen> {
        let mut requests = self.requests();
        requests.retain(|seen| seen.route() == route);
        requests
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.site.state().log.clear();
    }

    /// All clients that there are, by what they registered.
    pub fn clients(&self) -> Vec<Value> {
        self.site.state().vault.clients.values().cloned().collect()
    }

    /// Forgets all clients: the token endpoint answers `invalid_client` with 401.
    pub fn forget_clients(&self) {
        self.site.state().vault.clients.clear();
    }

    /// Makes all access tokens so far bad; refresh tokens stay good.
    pub fn expire_access_tokens(&self) {
        self.site.state().vault.expire_access();
    }

    /// Forgets all tokens and codes.
    pub fn revoke_everything(&self) {
        self.site.state().vault.revoke_everything();
    }
}

fn accept(site: &Arc<Site>, listener: &TcpListener, issuer: Issuer) {
    for stream in listener.incoming().flatten() {
        let site = Arc::clone(site);
        thread::spawn(move || {
            // What cannot be written any more is not missed.
            let _ = site.converse(stream, issuer);
        });
    }
}

impl Site {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn converse(&self, mut stream: TcpStream, issuer: Issuer) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = Request::read(&mut reader)? {
            let fault = self.state().hear(&request, issuer);
            if self.respond(&request, issuer, fault.as_ref(), &mut stream)? == Next::Close {
                stream.shutdown(Shutdown::Both)?;
                return Ok(());
            }
        }
        Ok(())
    }

    fn respond(
        &self,
        request: &Request,
        issuer: Issuer,
        fault: Option<&Fault>,
        stream: &mut TcpStream,
    ) -> std::io::Result<Next> {
        // What is refused before anything is done.
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
                let target = format!("{}{}", self.places.other, request.path);
                Reply::empty(*status).header("Location", &target)
            }
            Some(Fault::Silent) => {
                hold(stream);
                return Ok(Next::Close);
            }
            Some(Fault::HangUp) => return Ok(Next::Close),
            _ => return self.act(request, issuer, fault, stream),
        };
        refusal.for_method(&request.method).write(stream).map(|()| Next::KeepOpen)
    }

    /// Does what was asked; perhaps the answer does not arrive whole.
    fn act(
        &self,
        request: &Request,
        issuer: Issuer,
        fault: Option<&Fault>,
        stream: &mut TcpStream,
    ) -> std::io::Result<Next> {
        if let Some(Fault::Late(delay)) = fault {
            thread::sleep(*delay);
        }
        let answer = self.answer(request, issuer);
        let (status, body) = match answer {
            Answer::Other(reply) if fault != Some(&Fault::Lost) => {
                return reply.for_method(&request.method).write(stream).map(|()| Next::KeepOpen);
            }
            Answer::Other(_) => return Ok(Next::Close),
            Answer::Json(status, body) => (status, body),
        };
        let whole = body.to_string();
        let half = &whole.as_bytes()[..whole.len() / 2];
        match fault {
            Some(Fault::Lost) => return Ok(Next::Close),
            Some(Fault::CutOff) => {
                let length = whole.len();
                let head = format!(
                    "HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\n\
                     Content-Length: {length}\r\n\r\n"
                );
                stream.write_all(&[head.as_bytes(), half].concat())?;
                return Ok(Next::Close);
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
        .map(|()| Next::KeepOpen)
    }

    fn answer(&self, request: &Request, issuer: Issuer) -> Answer {
        let mut state = self.state();
        let State { script, vault, .. } = &mut *state;
        let base = self.places.of(issuer);
        let mut answer = match Route::of(request, issuer) {
            Route::ResourceMetadata => endpoints::resource_metadata(&self.places, script),
            Route::ServerMetadata => endpoints::server_metadata(base, script),
            Route::Registration => endpoints::register(vault, script, request),
            Route::Authorization => endpoints::authorize(vault, script, request, (issuer, base)),
            Route::Token => endpoints::token(vault, script, request, issuer),
            Route::Revocation => endpoints::revoke(vault, request),
            Route::Mcp => guarded::answer(vault, script, &self.places, request),
            Route::Nowhere => Answer::Other(Reply::text(404, "not here")),
        };
        if let Answer::Json(200 | 201, body) = &mut answer
            && let Some(endpoint) = script.endpoint(Route::of(request, issuer))
        {
            merge(body, &endpoint.patch);
        }
        answer
    }
}

impl State {
    /// Remembers a request, and says what goes wrong with it.
    fn hear(&mut self, request: &Request, issuer: Issuer) -> Option<Fault> {
        let mut record = request.record(issuer.name());
        record["form"] = endpoints::form(request).into();
        self.log.push(Seen::from_json(&record));
        if self.log.len() > MAX_REQUESTS {
            self.log.remove(0);
        }
        self.script.endpoint(Route::of(request, issuer))?.next_fault()
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    ResourceMetadata,
    ServerMetadata,
    Registration,
    Authorization,
    Token,
    Revocation,
    Mcp,
    Nowhere,
}

impl Route {
    fn of(request: &Request, issuer: Issuer) -> Self {
        let path = request.path.split('?').next().unwrap_or_default();
        let is_main = issuer == Issuer::Main;
        match path {
            "/mcp" if is_main => Self::Mcp,
            "/.well-known/oauth-protected-resource"
            | "/.well-known/oauth-protected-resource/mcp"
                if is_main =>
            {
                Self::ResourceMetadata
            }
            "/.well-known/oauth-authorization-server" | "/.well-known/openid-configuration" => {
                Self::ServerMetadata
            }
            "/register" => Self::Registration,
            "/authorize" => Self::Authorization,
            "/token" => Self::Token,
            "/revoke" => Self::Revocation,
            _ => Self::Nowhere,
        }
    }
}

impl Script {
    fn endpoint(&mut self, route: Route) -> Option<&mut Endpoint> {
        Some(match route {
            Route::ResourceMetadata => &mut self.resource_metadata,
            Route::ServerMetadata => &mut self.server_metadata,
            Route::Registration => &mut self.registration,
            Route::Authorization => &mut self.authorization,
            Route::Token => &mut self.token,
            Route::Revocation => &mut self.revocation,
            Route::Mcp => &mut self.mcp,
            Route::Nowhere => return None,
        })
    }
}

impl Answer {
    fn into_reply(self) -> Reply {
        match self {
            Self::Json(status, body) => Reply::json(status, body.to_string()),
            Self::Other(reply) => reply,
        }
    }
}
