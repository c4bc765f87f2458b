//! The loopback listener that receives the browser's redirect.
//!
//! Every program on this machine, and every page in its browsers, can connect. Only `GET` of the
//! expected path, host and `state` is accepted; other requests get 404 and change nothing. Idle
//! connections are closed before they exhaust the limit. Every connection carries one request.

mod page;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::Authority;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as Turn, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use self::page::Page;
use super::redirect::{
    AuthorizationCode, ExpectedRedirect, RedirectError, check_redirect, has_state,
};
use crate::sync::lock;
use crate::url::LOOPBACK_HOSTS;

pub const CALLBACK_PATH: &str = "/callback";
/// The ports that a client document names, in order of preference.
pub const PINNED_PORTS: [u16; 5] = [27890, 27891, 27892, 27893, 27894];
/// Maximum number of connections; a further one replaces the oldest that is not accepted yet.
pub const MAX_CONNECTIONS: usize = 32;
/// Timeout for reading a request.
pub const MAX_REQUEST_WAIT: Duration = Duration::from_secs(10);
/// Maximum size of a request head. Browsers send every cookie of this host.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Timeout for writing a page to the browser.
pub const MAX_READ_WAIT: Duration = Duration::from_secs(2);
/// Maximum number of used `state` values kept to explain a reloaded page.
const MAX_REMEMBERED: usize = 8;
/// Maximum number of ports tried if a port is free in one address family only.
const MAX_PAIRS_TRIED: usize = 16;
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

pub struct CallbackListener {
    sockets: Arc<[TcpListener]>,
    server: CallbackServer,
    callbacks: Turn<mpsc::Receiver<PendingCallback>>,
    serving: OnceLock<AbortOnDropHandle<()>>,
}

impl CallbackListener {
    /// Binds a port of 127.0.0.1 until the value is dropped; 0 picks a free one.
    pub async fn bind(port: u16) -> io::Result<Self> {
        Self::of(vec![socket(Ipv4Addr::LOCALHOST, port).await?])
    }

    /// Binds a port for redirects to this host: for `[::1]` both address families are bound.
    pub async fn bind_for(host: &str, port: u16) -> io::Result<Self> {
        if host.trim() != "[::1]" {
            return Self::bind(port).await;
        }
        let mut tried = 0;
        loop {
            tried += 1;
            let first = socket(Ipv6Addr::LOCALHOST, port).await?;
            match socket(Ipv4Addr::LOCALHOST, first.local_addr()?.port()).await {
                Ok(second) => return Self::of(vec![first, second]),
                Err(error) if port != 0 || tried == MAX_PAIRS_TRIED => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// All sockets share one port.
    fn of(sockets: Vec<TcpListener>) -> io::Result<Self> {
        let port = sockets.first().map_or(Ok(0), |first| first.local_addr().map(|at| at.port()))?;
        let (sender, callbacks) = mpsc::channel(MAX_CONNECTIONS);
        let path = CALLBACK_PATH.to_owned();
        let used = Arc::default();
        Ok(Self {
            sockets: sockets.into(),
            server: CallbackServer { path, any_host: false, port, used, sender },
            callbacks: Turn::new(callbacks),
            serving: OnceLock::new(),
        })
    }

    pub fn port(&self) -> u16 {
        self.server.port
    }

    /// Accepts redirects at this path, under any host that a proxy forwards.
    #[must_use]
    pub fn at_path(mut self, path: &str) -> Self {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        self.server.path = format!("/{}", path.trim_start_matches('/'));
        self.server.any_host = true;
        self
    }

    /// Waits for the expected redirect, including earlier requests. Cancel-safe, and reusable for
    /// another login.
    pub async fn redirect(&self, expected: &ExpectedRedirect) -> Callback {
        self.serving.get_or_init(|| self.serve());
        let mut callbacks = self.callbacks.lock().await;
        loop {
            let Some(callback) = callbacks.recv().await else {
                // Unreachable: `self` holds a sender.
                return std::future::pending().await;
            };
            let outcome = check_redirect(&callback.query, expected);
            if matches!(&outcome, Err(fault) if !fault.ends_login()) {
                let page = if self.server.is_used(&callback.query) {
                    page::already_used()
                } else {
                    page::not_found()
                };
                // The browser may have disconnected.
                let _ = callback.reply.send(page);
                continue;
            }
            self.server.remember(&expected.state);
            callback.is_accepted.store(true, Ordering::Release);
            return Callback { outcome, reply: Some(callback.reply), closed: callback.closed };
        }
    }

    fn serve(&self) -> AbortOnDropHandle<()> {
        let server = Arc::new(self.server.clone());
        AbortOnDropHandle::new(tokio::spawn(accept(Arc::downgrade(&self.sockets), server)))
    }
}

impl fmt::Debug for CallbackListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("port", &self.server.port).finish_non_exhaustive()
    }
}

/// The expected redirect. The browser waits for its page until the login has ended; dropping the
/// value answers that the login was not finished.
pub struct Callback {
    pub outcome: Result<AuthorizationCode, RedirectError>,
    reply: Option<oneshot::Sender<Page>>,
    closed: CancellationToken,
}

impl Callback {
    /// Sends the page and waits a moment until the browser has read it.
    pub async fn answer(mut self, ending: LoginOutcome) {
        let Some(reply) = self.reply.take() else { return };
        if reply.send(page::for_outcome(&ending)).is_ok() {
            // A browser that does not read must not block the login.
            let _ = tokio::time::timeout(MAX_READ_WAIT, self.closed.cancelled()).await;
        }
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrived").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

/// The outcome of a login, for the page in the browser. A failure may quote a peer; to continue, the
/// browser is redirected to another http or https URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginOutcome {
    SignedIn { server: String },
    Failed { server: String, what: String },
    Continue { address: String },
}

struct PendingCallback {
    query: String,
    reply: oneshot::Sender<Page>,
    is_accepted: Arc<AtomicBool>,
    closed: CancellationToken,
}

#[derive(Clone)]
struct CallbackServer {
    path: String,
    /// A proxy forwards under its host name. Otherwise only loopback names with our port are
    /// accepted, which protects against DNS rebinding.
    any_host: bool,
    port: u16,
    /// The used `state` values.
    used: Arc<Mutex<VecDeque<String>>>,
    sender: mpsc::Sender<PendingCallback>,
}

async fn socket(address: impl Into<IpAddr>, port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((address.into(), port)).await
}

/// Binds the first free one of [`PINNED_PORTS`]; `None` if all are taken.
pub async fn bind_pinned() -> Option<CallbackListener> {
    for port in PINNED_PORTS {
        if let Ok(listener) = CallbackListener::bind(port).await {
            return Some(listener);
        }
    }
    None
}

/// Dropping it closes the connection, unless its redirect was accepted: that one stays until its
/// page is read.
struct OpenConnection {
    task: JoinHandle<()>,
    is_accepted: Arc<AtomicBool>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if !self.is_accepted.load(Ordering::Acquire) {
            self.task.abort();
        }
    }
}

/// The sockets are held weakly: the port is free as soon as the listener is dropped, not when this
/// task runs next.
async fn accept(sockets: Weak<[TcpListener]>, server: Arc<CallbackServer>) {
    let mut held: VecDeque<OpenConnection> = VecDeque::new();
    loop {
        let accepted = poll_fn(|context| {
            let Some(sockets) = sockets.upgrade() else { return Poll::Ready(None) };
            let mut ready = sockets.iter().map(|socket| socket.poll_accept(context));
            ready.find(Poll::is_ready).map_or(Poll::Pending, |accepted| accepted.map(Some))
        });
        let stream = match accepted.await {
            Some(Ok((stream, _))) => stream,
            Some(Err(_)) => {
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            }
            None => return,
        };
        held.retain(|connection| !connection.task.is_finished());
        if held.len() >= MAX_CONNECTIONS {
            let waits = |held: &OpenConnection| !held.is_accepted.load(Ordering::Acquire);
            held.iter().position(waits).and_then(|oldest| held.remove(oldest));
        }
        let is_accepted = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(connection(stream, Arc::clone(&server), Arc::clone(&is_accepted)));
        held.push_back(OpenConnection { task, is_accepted });
    }
}

async fn connection(stream: TcpStream, server: Arc<CallbackServer>, is_accepted: Arc<AtomicBool>) {
    let closed = CancellationToken::new();
    let _guard = closed.clone().drop_guard();
    let service = service_fn(|request| {
        let (server, is_accepted) = (Arc::clone(&server), Arc::clone(&is_accepted));
        let closed = closed.clone();
        async move { Ok::<_, Infallible>(respond(request, &server, is_accepted, closed).await) }
    });
    // An error concerns this connection only.
    let _ = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(MAX_REQUEST_WAIT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(
    request: Request<Incoming>,
    server: &CallbackServer,
    is_accepted: Arc<AtomicBool>,
    closed: CancellationToken,
) -> Response<Full<Bytes>> {
    if !server.admits(&request) {
        return page::not_found().into_response();
    }
    let query = request.uri().query().unwrap_or_default().to_owned();
    if server.is_used(&query) {
        return page::already_used().into_response();
    }
    let (reply, answer) = oneshot::channel();
    let callback = PendingCallback { query, reply, is_accepted, closed };
    if server.sender.send(callback).await.is_err() {
        return page::not_found().into_response();
    }
    answer.await.unwrap_or_else(|_| page::unfinished()).into_response()
}

impl CallbackServer {
    fn admits(&self, request: &Request<Incoming>) -> bool {
        let is_ours = request.method() == Method::GET && request.uri().path() == self.path;
        is_ours && (self.any_host || self.is_named(request))
    }

    /// Whether every host name in the request is a loopback name with our port.
    fn is_named(&self, request: &Request<Incoming>) -> bool {
        let mut hosts = request.headers().get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        host.is_some_and(|host| self.is_loopback(&host))
            && request.uri().authority().is_none_or(|host| self.is_loopback(host))
    }

    fn is_loopback(&self, name: &Authority) -> bool {
        let (host, port) = (name.host().to_ascii_lowercase(), name.port_u16().unwrap_or(80));
        let is_bare = !name.as_str().contains('@');
        is_bare && port == self.port && LOOPBACK_HOSTS.contains(&host.as_str())
    }

    fn is_used(&self, query: &str) -> bool {
        lock(&self.used).iter().any(|state| has_state(query, state))
    }

    fn remember(&self, state: &str) {
        let mut used = lock(&self.used);
        if used.len() == MAX_REMEMBERED {
            used.pop_front();
        }
        used.push_back(state.to_owned());
    }
}
