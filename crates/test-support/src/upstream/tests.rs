//! Answers follow the documentation of the providers, and faults happen on the wire.

mod faults;
mod forms;
mod server;

use std::io::{self, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::Upstream;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    NumberedEvents,
}

/// The bytes of a connection until its end.
#[derive(Debug)]
struct Wire {
    bytes: Vec<u8>,
    /// The error that ended reading, if it did not end cleanly.
    broken: Option<io::ErrorKind>,
}

impl Wire {
    fn status(&self) -> u16 {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        text.split(' ').nth(1).unwrap_or("0").parse().unwrap()
    }

    fn head(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        text.split_once("\r\n\r\n").unwrap().0.to_lowercase()
    }

    fn raw_body(&self) -> &[u8] {
        let place = self.bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        &self.bytes[place + 4..]
    }

    /// The body without its framing, and whether it is complete.
    fn body(&self) -> (Vec<u8>, bool) {
        let mut rest = self.raw_body();
        if let Some((_, length)) = self.head().split_once("content-length: ") {
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            return (rest.to_vec(), rest.len() == length);
        }
        let mut body = Vec::new();
        while let Some(place) = rest.windows(2).position(|window| window == b"\r\n") {
            let length = std::str::from_utf8(&rest[..place]).unwrap();
            let length = usize::from_str_radix(length, 16).unwrap();
            rest = &rest[place + 2..];
            if length == 0 {
                return (body, true);
            }
            body.extend(&rest[..length.min(rest.len())]);
            rest = rest.get(length + 2..).unwrap_or_default();
        }
        (body, false)
    }

    fn text(&self) -> String {
        String::from_utf8(self.body().0).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body().0).unwrap()
    }

    fn is_whole(&self) -> bool {
        self.body().1
    }

    /// The data of all events, as JSON if it is JSON.
    fn events(&self) -> Vec<Value> {
        let text = self.text().replace("\r\n", "\n");
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
    }
}

fn body(path: &str, model: &str, text: &str, form: Form) -> Value {
    let mut body = json!({"model": model, "stream": form == Form::NumberedEvents});
    let message = json!([{"role": "user", "content": text}]);
    match path {
        RESPONSES => body["input"] = message,
        _ => body["messages"] = message,
    }
    if path == MESSAGES {
        body["max_tokens"] = 100.into();
    }
    body
}

fn connect(upstream: &Upstream, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(upstream.origin().trim_start_matches("http://")).unwrap();
    let (body, key) = (body.to_string(), upstream.key());
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\n\
         anthropic-version: 2023-06-01\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn exchange(upstream: &Upstream, path: &str, body: &Value) -> Wire {
    let mut stream = connect(upstream, path, body);
    let mut bytes = Vec::new();
    let broken = stream.read_to_end(&mut bytes).err().map(|error| error.kind());
    Wire { bytes, broken }
}

fn ask(upstream: &Upstream, path: &str, model: &str, form: Form) -> Wire {
    exchange(upstream, path, &body(path, model, "one two three", form))
}
