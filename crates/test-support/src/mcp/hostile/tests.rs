//! Tests of the hostile server: correct where it should be, faulty where it should be.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::bad_messages;
use super::behaviour::Behaviour;
use super::correct_server::{self, Era};
use super::http::HostileHttp;
use super::server::{MessageResult, MessageSink, Server, is_affected};

#[derive(Default)]
struct Kept(Vec<Vec<u8>>);

impl MessageSink for Kept {
    fn message(&mut self, message: &[u8]) {
        self.0.push(message.to_vec());
    }

    fn settle(&mut self) {}

    fn is_gone(&self) -> bool {
        false
    }
}

fn call(name: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": name, "arguments": {"text": "T"}}})
}

fn said(server: &Server, message: &Value) -> Vec<Value> {
    let mut kept = Kept::default();
    assert_eq!(server.receive(message, &mut kept), MessageResult::Answered);
    kept.0.iter().map(|bytes| serde_json::from_slice(bytes).unwrap()).collect()
}

#[test]
fn correct_server_answers_in_both_generations() {
    let legacy = Server::new(Behaviour::Correct);
    let initialize = json!({"id": 1, "method": "initialize", "params": {}});
    assert_eq!(said(&legacy, &initialize)[0]["result"]["protocolVersion"], "2025-11-25");
    let answers = said(&legacy, &call("good"));
    assert_eq!(answers[0]["result"]["content"][0]["text"], "good: T");
    assert_eq!(said(&legacy, &call("absent"))[0]["error"]["code"], -32602);

    let stateless = Server::new(Behaviour::CorrectStateless);
    assert_eq!(said(&stateless, &initialize)[0]["error"]["code"], -32601);
    assert_eq!(said(&stateless, &call("good"))[0]["error"]["code"], -32602);
    let mut right = call("good");
    right["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    assert_eq!(said(&stateless, &right)[0]["result"]["resultType"], "complete");
}

#[test]
fn other_works_with_every_behaviour() {
    for &behaviour in Behaviour::ALL {
        if behaviour.era() == Era::Stateless {
            continue;
        }
        let answers = said(&Server::new(behaviour), &call("other"));
        let right = correct_server::call(Era::Legacy, &call("other"));
        assert_eq!(answers, [right], "{}", behaviour.name());
        assert!(is_affected(&call("good")) && !is_affected(&call("other")));
    }
}

#[test]
fn bad_messages_differ_from_the_correct_answer() {
    let right = bad_messages::bytes(&correct_server::call(Era::Legacy, &call("good")));
    let shaped: Vec<_> = Behaviour::ALL
        .iter()
        .filter_map(|&one| Some((one, bad_messages::of_call(one, Era::Legacy, &call("good"))?)))
        .collect();
    assert!(shaped.len() > 30, "{}", shaped.len());
    for (behaviour, messages) in shaped {
        assert_ne!(messages, std::slice::from_ref(&right), "{}", behaviour.name());
    }
}

/// Sends one request over a new connection and reads the whole response.
fn exchange(url: &str, head: &str, body: &Value) -> String {
    let (address, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n{head}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn http_session_is_opened_used_and_logged() {
    let state = HostileHttp::start(Behaviour::Correct).unwrap();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let opened = exchange(&state.url, "", &initialize);
    assert!(opened.contains("Mcp-Session-Id: session-0\r\n"), "{opened}");
    let session = "Mcp-Session-Id: session-0\r\nX-Seen: yes\r\n";
    let answered = exchange(&state.url, session, &call("good"));
    assert!(answered.starts_with("HTTP/1.1 200") && answered.contains("good: T"), "{answered}");
    assert!(exchange(&state.url, "", &call("good")).starts_with("HTTP/1.1 400"));
    let requests = state.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1]["headers"]["x-seen"], "yes");
    assert!(requests[1]["body"].as_str().unwrap().contains("tools/call"));
}

#[test]
fn redirect_is_logged_at_the_other_origin() {
    let state = HostileHttp::start(Behaviour::RedirectOther).unwrap();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let moved = exchange(&state.url, "", &initialize);
    let place = moved.split_once("Location: ").unwrap().1.lines().next().unwrap();
    assert!(exchange(place, "Authorization: Bearer a\r\n", &initialize).contains("serverInfo"));
    let requests = state.requests();
    assert_eq!((&requests[0]["server"], &requests[1]["server"]), (&json!("main"), &json!("other")));
    assert_eq!(requests[1]["headers"]["authorization"], "Bearer a");
}

#[test]
fn call_continues_with_the_client_answer() {
    let server = std::sync::Arc::new(Server::new(Behaviour::AskUnknown));
    let asking = std::sync::Arc::clone(&server);
    let call = std::thread::spawn(move || said(&asking, &call("good")));
    let reply =
        json!({"jsonrpc": "2.0", "id": "ask-1", "error": {"code": -32601, "message": "no"}});
    assert_eq!(server.receive(&reply, &mut Kept::default()), MessageResult::Answered);
    let messages = call.join().unwrap();
    assert_eq!(messages[0]["method"], "hostile/unknown");
    let text = messages[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("-32601"), "{text}");
}
