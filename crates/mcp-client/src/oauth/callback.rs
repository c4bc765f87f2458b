//! The listener on loopback that waits for a browser to come back.
//!
//! Anybody on this machine, and any page in any browser on it, can knock here. Only `GET` of the
//! right path at the right host with the right `state` is let in; everything else is told that
//! there is nothing, and changes nothing. Silent connections are put out before they crowd out the
//! right one. Every connection carries one request.

mod page;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
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

use self::page::Page;
use super::redirect::{Code, Expected, Fault, has_state, judge};
use crate::url::LOOPBACK_HOSTS;

/// The path of a redirect, unless the listener was told another one.
pub const PATH: &str = "/callback";
/// The most connections at once; for a further one the oldest that waits is put out.
pub const MAX_CONNECTIONS: usize = 32;
/// How long a connection may take to say what it wants.
pub const MAX_REQUEST_WAIT: Duration = Duration::from_secs(10);
/// The longest head of a request. Browsers send every cookie that any page of this host ever set.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// How long a browser may take to read its page.
pub const MAX_READ_WAIT: Duration = Duration::from_secs(2);
/// How many finished logins are remembered, to tell a page that is loaded again what it is.
const MAX_REMEMBERED: usize = 8;
/// How often a port that is free in one address family, and taken in the other, is given up for
/// another.
const MAX_PAIRS_TRIED: usize = 16;
/// How long accepting rests after it failed.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// A bound port of this machine that waits for redirects.
pub struct Listener {
    sockets: Arc<[TcpListener]>,
    port: u16,
    door: Door,
    used: Arc<Mutex<VecDeque<String>>>,
    sender: mpsc::Sender<Knock>,
    knocks: Turn<mpsc::Receiver<Knock>>,
    serving: OnceLock<Serving>,
}

impl Listener {
    /// Binds a port of 127.0.0.1, and holds it until the value is dropped; 0 picks one.
    pub async fn bind(port: u16) -> io::Result<Self> {
        Self::of(vec![socket(Ipv4Addr::LOCALHOST, port).await?])
    }

    /// Binds a port for a browser that is told to come to this host: `[::1]` is another address
    /// than 127.0.0.1, and is bound beside it.
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

    /// All sockets have one port.
    fn of(sockets: Vec<TcpListener>) -> io::Result<Self> {
        let port = sockets.first().map_or(Ok(0), |first| first.local_addr().map(|at| at.port()))?;
        let (sender, knocks) = mpsc::channel(MAX_CONNECTIONS);
        Ok(Self {
            sockets: sockets.into(),
            port,
            door: Door { path: PATH.to_owned(), hosts: Hosts::Loopback },
            used: Arc::default(),
            sender,
            knocks: Turn::new(knocks),
            serving: OnceLock::new(),
        })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Takes redirects at this path, under whatever host a proxy forwards them.
    #[must_use]
    pub fn at_path(mut self, path: &str) -> Self {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_start_matches('/');
        self.door = Door { path: format!("/{path}"), hosts: Hosts::Any };
        self
    }

    /// Waits for the one right request. Who came before this was called is heard now. It can be
    /// dropped and called again, also for another login.
    pub async fn redirect(&self, expected: &Expected) -> Arrived {
        self.serving.get_or_init(|| self.serve());
        let mut knocks = self.knocks.lock().await;
        loop {
            let Some(knock) = knocks.recv().await else {
                // The sender is ours: this cannot be.
                return std::future::pending().await;
            };
            let outcome = judge(&knock.query, expected);
            if matches!(&outcome, Err(fault) if !fault.ends_login()) {
                let page =
                    if is_used(&self.used, &knock.query) { page::used() } else { page::nothing() };
                // Who has gone is not told.
                let _ = knock.reply.send(page);
                continue;
            }
            remember(&self.used, &expected.state);
            knock.is_let_in.store(true, Ordering::Release);
            return Arrived { outcome, reply: Some(knock.reply), closed: knock.closed };
        }
    }

    fn serve(&self) -> Serving {
        let reception = Arc::new(Reception {
            door: self.door.clone(),
            port: self.port,
            used: Arc::clone(&self.used),
            knocks: self.sender.clone(),
        });
        Serving(tokio::spawn(accept(Arc::downgrade(&self.sockets), reception)))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("port", &self.port).finish_non_exhaustive()
    }
}

/// The right request. The browser waits for its page until the login has ended; if the value is
/// dropped, it gets one that says that the login was not finished.
pub struct Arrived {
    /// What the redirect said.
    pub outcome: Result<Code, Fault>,
    reply: Option<oneshot::Sender<Page>>,
    closed: CancellationToken,
}

impl Arrived {
    /// Shows the browser how it ended, and gives it a moment to read that.
    pub async fn answer(mut self, ending: Ending) {
        let Some(reply) = self.reply.take() else { return };
        if reply.send(page::of(&ending)).is_ok() {
            // A browser that does not read keeps nobody.
            let _ = tokio::time::timeout(MAX_READ_WAIT, self.closed.cancelled()).await;
        }
    }
}

impl fmt::Debug for Arrived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrived").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

/// How a login ended, for the page in the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Well.
    SignedIn {
        /// The name of the server.
        server: String,
    },
    /// Not well.
    Failed {
        /// The name of the server.
        server: String,
        /// What went wrong, which may hold words of a peer.
        what: String,
        /// What helps.
        hint: Option<String>,
    },
    /// It goes on at another address.
    Continue {
        /// The address, http or https.
        address: String,
    },
}

/// What a request must fit to be heard.
#[derive(Debug, Clone)]
struct Door {
    path: String,
    hosts: Hosts,
}

/// Under which names the listener may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hosts {
    /// Those of loopback with our port: a page elsewhere cannot make its own name point here.
    Loopback,
    /// Any: a proxy has its own.
    Any,
}

/// A request at the right door.
struct Knock {
    query: String,
    reply: oneshot::Sender<Page>,
    is_let_in: Arc<AtomicBool>,
    closed: CancellationToken,
}

/// What every connection needs to know.
struct Reception {
    door: Door,
    port: u16,
    used: Arc<Mutex<VecDeque<String>>>,
    knocks: mpsc::Sender<Knock>,
}

async fn socket(address: impl Into<IpAddr>, port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((address.into(), port)).await
}

/// Accepts until it is dropped.
struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection. One that was let in lives until its page is read, even without the listener.
struct Held {
    task: JoinHandle<()>,
    is_let_in: Arc<AtomicBool>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_let_in.load(Ordering::Acquire) {
            self.task.abort();
        }
    }
}

/// The sockets are only borrowed: the port is free as soon as its owner lets it go, not when this
/// task next runs.
async fn accept(sockets: Weak<[TcpListener]>, reception: Arc<Reception>) {
    let mut held: VecDeque<Held> = VecDeque::new();
    loop {
        let accepted = poll_fn(|context| {
            let Some(sockets) = sockets.upgrade() else { return Poll::Ready(None) };
            let mut ready = sockets.iter().map(|socket| socket.poll_accept(context));
            ready.find(Poll::is_ready).map_or(Poll::Pending, |accepted| accepted.map(Some))
        });
        let stream = match accepted.await {
            Some(Ok((stream, _))) => stream,
            Some(Err(_)) => {
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            }
            None => return,
        };
        held.retain(|connection| !connection.task.is_finished());
        if held.len() >= MAX_CONNECTIONS {
            let waits = |held: &Held| !held.is_let_in.load(Ordering::Acquire);
            held.iter().position(waits).and_then(|oldest| held.remove(oldest));
        }
        let is_let_in = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(connection(stream, Arc::clone(&reception), Arc::clone(&is_let_in)));
        held.push_back(Held { task, is_let_in });
    }
}

/// Hears one request and answers it.
async fn connection(stream: TcpStream, reception: Arc<Reception>, is_let_in: Arc<AtomicBool>) {
    let closed = CancellationToken::new();
    let _guard = closed.clone().drop_guard();
    let service = service_fn(|request| {
        let (reception, is_let_in) = (Arc::clone(&reception), Arc::clone(&is_let_in));
        let closed = closed.clone();
        async move { Ok::<_, Infallible>(respond(request, &reception, is_let_in, closed).await) }
    });
    // Whatever breaks here breaks for one stranger only.
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
    reception: &Reception,
    is_let_in: Arc<AtomicBool>,
    closed: CancellationToken,
) -> Response<Full<Bytes>> {
    if !reception.admits(&request) {
        return page::nothing().into_response();
    }
    let query = request.uri().query().unwrap_or_default().to_owned();
    if is_used(&reception.used, &query) {
        return page::used().into_response();
    }
    let (reply, answer) = oneshot::channel();
    let knock = Knock { query, reply, is_let_in, closed };
    if reception.knocks.send(knock).await.is_err() {
        return page::nothing().into_response();
    }
    answer.await.unwrap_or_else(|_| page::unfinished()).into_response()
}

impl Reception {
    fn admits(&self, request: &Request<Incoming>) -> bool {
        let is_ours = request.method() == Method::GET && request.uri().path() == self.door.path;
        is_ours && (self.door.hosts == Hosts::Any || self.is_named(request))
    }

    /// Whether the request calls us by a name of loopback, in every place where it names a host.
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
}

fn is_used(used: &Mutex<VecDeque<String>>, query: &str) -> bool {
    let used = used.lock().unwrap_or_else(PoisonError::into_inner);
    used.iter().any(|state| has_state(query, state))
}

fn remember(used: &Mutex<VecDeque<String>>, state: &str) {
    let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
    if used.len() == MAX_REMEMBERED {
        used.pop_front();
    }
    used.push_back(state.to_owned());
}
