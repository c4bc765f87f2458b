//! The HTTP transport: a server on plain sockets, one thread per connection.

mod bad_responses;
mod reply;
mod streams;

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::behaviour::Behaviour;
use super::correct_server::{self, Era};
use super::server::{MessageResult, Server, print_error};
use crate::http::{self, AfterReply, Replied, Reply, Request, hold};
use crate::wait::lock;
use reply::ResponseSink;

const STREAM_PULSE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    Main,
    Other,
}

#[derive(Debug)]
struct ServerState {
    server: Server,
    main_port: u16,
    other_port: u16,
    log: Mutex<Vec<Value>>,
    sessions: Mutex<BTreeSet<String>>,
    /// Calls of `good` so far.
    affected_calls: AtomicUsize,
    /// Answers that wait for a GET with their event id.
    resumable: Mutex<HashMap<String, Vec<u8>>>,
    /// Open streams of the transport of 2024-11-05, by session.
    old_streams: Mutex<HashMap<String, Sender<Vec<u8>>>>,
    counter: AtomicUsize,
}

/// Serves until the process ends; returns an exit code only if it cannot start.
pub(super) fn serve(behaviour: Behaviour) -> u8 {
    match HostileHttp::start(behaviour).and_then(|state| state.announce()) {
        Ok(()) => loop {
            thread::park();
        },
        Err(error) => {
            print_error(&format!("cannot serve: {error}"));
            1
        }
    }
}

/// A hostile server inside the test process; it serves until the process ends.
#[derive(Debug)]
pub struct HostileHttp {
    pub url: String,
    state: Arc<ServerState>,
}

impl HostileHttp {
    pub fn start(behaviour: Behaviour) -> io::Result<HostileHttp> {
        let main = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let state = Arc::new(ServerState {
            server: Server::new(behaviour),
            main_port: main.local_addr()?.port(),
            other_port: other.local_addr()?.port(),
            log: Mutex::default(),
            sessions: Mutex::default(),
            affected_calls: AtomicUsize::new(0),
            resumable: Mutex::default(),
            old_streams: Mutex::default(),
            counter: AtomicUsize::new(0),
        });
        let path = if behaviour.is_old_sse() { "/sse" } else { "/mcp" };
        let url = format!("http://127.0.0.1:{}{path}", state.main_port);
        for (listener, origin) in [(main, Origin::Main), (other, Origin::Other)] {
            let state = Arc::clone(&state);
            http::serve(listener, move |request, stream| state.receive(request, origin, stream));
        }
        Ok(HostileHttp { url, state })
    }

    /// All requests so far, each with `server` (`main`, or `other` for the second origin that some
    /// behaviours point to), `method`, `path`, `headers` and `body`.
    pub fn requests(&self) -> Vec<Value> {
        lock(&self.state.log).clone()
    }

    /// The protocol methods of all requests so far.
    pub fn methods(&self) -> Vec<String> {
        let requests = self.requests().into_iter();
        let bodies = requests
            .filter_map(|request| serde_json::from_str::<Value>(request["body"].as_str()?).ok());
        bodies.filter_map(|body| Some(body["method"].as_str()?.to_owned())).collect()
    }

    fn announce(&self) -> io::Result<()> {
        let mut output = std::io::stdout();
        writeln!(output, "{}", self.url)?;
        output.flush()
    }
}

impl ServerState {
    fn receive(&self, request: &Request, origin: Origin, stream: &mut TcpStream) -> Replied {
        lock(&self.log).push(request.record(origin));
        if request.path.starts_with("/.well-known/") {
            return Reply::text(404, "not here").write(stream);
        }
        if self.server.behaviour.is_old_sse() {
            return self.respond_old_sse(request, origin, stream);
        }
        if origin == Origin::Main
            && let Some(next) = self.bad_response(request, stream)?
        {
            return Ok(next);
        }
        match request.method.as_str() {
            "POST" => self.post(request, stream),
            "GET" => self.stream_events(request, stream),
            "DELETE" => Reply::empty(200).write(stream),
            _ => Reply::empty(405).write(stream),
        }
    }

    /// Answers a message with JSON, or with a stream if there is more than one message to send.
    fn post(&self, request: &Request, stream: &mut TcpStream) -> Replied {
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            let refusal = json!({"jsonrpc": "2.0", "id": null,
                "error": {"code": -32700, "message": "no JSON"}});
            return Reply::json(400, refusal.to_string()).write(stream);
        };
        if let Some(refusal) = self.refuse(request, &message) {
            return refusal.write(stream);
        }
        let session = (self.server.era() == Era::Legacy && message["method"] == "initialize")
            .then(|| self.new_session());
        let mut out = ResponseSink::new(stream, session, self.server.era());
        let result = self.server.receive(&message, &mut out);
        match result {
            MessageResult::Exit(code) => std::process::exit(i32::from(code)),
            MessageResult::Silent => {
                hold(stream);
                Ok(AfterReply::Close)
            }
            MessageResult::Answered => out.finish(),
        }
    }

    /// Rejects what a correct server rejects: an unknown session, headers that contradict the body.
    fn refuse(&self, request: &Request, message: &Value) -> Option<Reply> {
        let refusal = |status, code, text: &str| {
            Some(Reply::json(status, correct_server::error(message, code, text).to_string()))
        };
        if self.server.era() == Era::Stateless {
            let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            let agrees = request.header("mcp-method") == message["method"].as_str()
                && request.header("mcp-protocol-version") == version.as_str();
            // A client that knows only the handshake sends neither; it is rejected for its method.
            if agrees || message["method"] == "initialize" || message.get("id").is_none() {
                return None;
            }
            return refusal(400, -32020, "the headers contradict the body");
        }
        if matches!(message["method"].as_str(), Some("initialize" | "server/discover")) {
            return None;
        }
        match request.header("mcp-session-id") {
            Some(session) if lock(&self.sessions).contains(session) => None,
            Some(_) => refusal(404, -32001, "session not found"),
            None => refusal(400, -32000, "no session id"),
        }
    }

    fn new_session(&self) -> String {
        let session = format!("session-{}", self.count());
        lock(&self.sessions).insert(session.clone());
        session
    }

    fn count(&self) -> usize {
        self.counter.fetch_add(1, Ordering::SeqCst)
    }
}
