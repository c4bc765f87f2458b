//! A scripted search provider on a free port, which records its requests.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names and values, as they were meant.
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Json(Value),
    /// A status without meaning in its body, and one more header.
    Status(u16, &'static str),
    Html,
    /// JSON that breaks off, with the length that it should have.
    Truncated,
    /// JSON that is not finished, with the length that it has.
    Unfinished,
    /// Nothing, until the other side goes.
    Silence,
    /// A body that never ends.
    Huge,
    Reset,
}

#[derive(Default)]
struct State {
    asked: Vec<Asked>,
    script: VecDeque<Reply>,
    otherwise: Option<Reply>,
}

/// A service of results.
pub(crate) struct Peer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Peer {
    /// A service with this default answer.
    pub(crate) fn start(otherwise: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { otherwise: Some(otherwise), ..State::default() }));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), state) = (stream, shared.clone()) else { return };
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    /// Where it is.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it answers next, once each.
    pub(crate) fn script(&self, replies: &[Reply]) {
        self.state.lock().unwrap().script.extend(replies.iter().cloned());
    }

    /// Everything it was asked; probes do not count.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let Some(asked) = read(&stream) else { return };
    if asked.path.ends_with("/healthz") {
        answer(&mut stream, 200, "content-type: text/plain", b"OK");
        return;
    }
    let reply = {
        let mut state = state.lock().unwrap();
        state.asked.push(asked);
        state.script.pop_front().or_else(|| state.otherwise.clone()).unwrap()
    };
    let json = "content-type: application/json";
    match reply {
        Reply::Json(body) => answer(&mut stream, 200, json, body.to_string().as_bytes()),
        Reply::Status(status, header) => answer(&mut stream, status, header, b"{\"error\": 1}"),
        Reply::Html => answer(&mut stream, 200, "content-type: text/html", b"<html>Hello</html>"),
        Reply::Unfinished => answer(&mut stream, 200, json, b"{\"results\": [{\"url\": \"https"),
        Reply::Truncated => {
            let head = format!("HTTP/1.1 200 OK\r\n{json}\r\ncontent-length: 500\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(b"{\"results\": [");
        }
        Reply::Silence => while matches!(stream.read(&mut [0; 64]), Ok(1..)) {},
        Reply::Huge => {
            let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{json}\r\n\r\n").as_bytes());
            while stream.write_all(&[b' '; 8192]).is_ok() {}
        }
        Reply::Reset => {}
    }
}

fn answer(stream: &mut TcpStream, status: u16, header: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} Whatever\r\n{header}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, length)| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Asked { method, path: path.to_owned(), query, headers, body })
}
