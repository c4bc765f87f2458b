//! Connections: one small thread each, one request after another.

use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use serde_json::{Value, json};

use super::ResponsesApi;
use super::dialect::Dialect;
use super::media;
use super::model_request::ModelRequest;
use super::pass_through;
use super::recorded_request::{Exchange, Outcome};
use super::server_state::{OpenConnection, ServerState};
use super::step_runner::{StepRunner, send};
use crate::http::{AfterReply, Replied, Reply, Request};
use crate::wait::lock;

/// Small, because there may be a thousand threads; a deeply nested body must fit.
const STACK_BYTES: usize = 256 * 1024;

/// Accepts connections in a thread until the port is closed.
pub(super) fn accept(state: &Arc<ServerState>, listener: TcpListener) {
    state.closing.store(false, Ordering::SeqCst);
    state.open.store(true, Ordering::SeqCst);
    let state = Arc::clone(state);
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            if state.closing.load(Ordering::SeqCst) {
                break;
            }
            let number = state.connections.fetch_add(1, Ordering::SeqCst);
            let Ok(twin) = stream.try_clone() else { continue };
            lock(&state.live).insert(number, OpenConnection { stream: twin, cut: false });
            let inside = Arc::clone(&state);
            let talk = move || {
                // The client may have disconnected.
                let _ = converse(&inside, number, &stream);
                lock(&inside.live).remove(&number);
            };
            if thread::Builder::new().stack_size(STACK_BYTES).spawn(talk).is_err() {
                lock(&state.live).remove(&number);
            }
        }
        drop(listener);
        state.open.store(false, Ordering::SeqCst);
    });
}

fn converse(state: &ServerState, connection: usize, stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = Request::read(&mut reader)? {
        let exchange = state.record(connection, &request);
        let in_flight = state.enter();
        let result = respond(state, &exchange, &request, stream);
        let was_cut = || lock(&state.live).get(&connection).is_some_and(|live| live.cut);
        exchange.end(match &result {
            Ok(_) => Outcome::Answered,
            Err(_) if was_cut() => Outcome::Cut,
            Err(_) => Outcome::Cancelled,
        });
        drop(in_flight);
        let last = request.header("connection").is_some_and(|value| value == "close");
        if result? == AfterReply::Close || last {
            break;
        }
    }
    Ok(())
}

/// Answers one request; an error means that the client disconnected.
fn respond(
    state: &ServerState,
    exchange: &Exchange,
    request: &Request,
    stream: &TcpStream,
) -> Replied {
    let path = request.path.split('?').next().unwrap_or_default();
    let dialect = Dialect::of(path, request);
    let refused = |status, message: &str| {
        let body = dialect.error(status, message).to_string();
        send(exchange, stream, &Reply::json(status, body))
    };
    if !has_key(state, request) {
        return refused(401, "Incorrect API key provided.");
    }
    match (request.method.as_str(), path) {
        ("GET", "/v1/models") => {
            let models = dialect.models(&lock(&state.control).models).to_string();
            return send(exchange, stream, &Reply::json(200, models));
        }
        ("POST", path) if pass_through::is_path(path) => {
            return pass_through::respond(state, exchange, request, stream);
        }
        // An image that an answer can refer to by its URL.
        ("GET", "/v1/files/picture.png") => {
            let reply = Reply::empty(200).header("Content-Type", "image/png");
            return send(exchange, stream, &reply.body(media::png("picture")));
        }
        ("POST", "/v1/responses") if lock(&state.control).responses == ResponsesApi::Absent => {
            let body = json!({"detail": "Not Found"}).to_string();
            return send(exchange, stream, &Reply::json(404, body));
        }
        // Every word is a token.
        ("POST", "/v1/messages/count_tokens") => {
            let words = request.json()["messages"].to_string().split_whitespace().count();
            let body = json!({"input_tokens": words}).to_string();
            return send(exchange, stream, &Reply::json(200, body));
        }
        ("POST", "/v1/chat/completions" | "/v1/responses" | "/v1/messages") => {}
        _ => {
            let body = json!({"error": {"message": "Invalid URL", "code": null}}).to_string();
            return send(exchange, stream, &Reply::json(404, body));
        }
    }
    let body: Value = request.json();
    if let Some(complaint) = dialect.complaint(&body, request) {
        return refused(400, &complaint);
    }
    let ask = ModelRequest::read(dialect, &body);
    let step = state.choose(&ask);
    StepRunner { state, exchange, ask: &ask, stream }.play(&step)
}

fn has_key(state: &ServerState, request: &Request) -> bool {
    let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    lock(&state.control).accepts_any_key
        || bearer == Some(&state.key)
        || request.header("x-api-key") == Some(&state.key)
}
