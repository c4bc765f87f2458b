//! Calls of tools over `/mcp`, against the same requests on the plain paths.

use std::net::SocketAddr;

use memchr::memmem;
use serde_json::{Value, json};

use crate::Effort;
use crate::client::Client;
use crate::corpus::Corpus;
use crate::load::Target;
use crate::message::post;
use crate::service::{Home, Service};
use crate::table::{Goal, row as print};
use crate::turns::{Contender, Turns, median, ratios};

const CONNECTIONS: usize = 4;
const MEMBERS: usize = 8;
/// How many documents are searched, and by how many questions.
const DOCUMENTS: usize = 2000;
const QUESTIONS: usize = 2000;
/// Nothing is answered from before: every search is done.
const CONFIGURATION: &str = "providers:\n  docs: {kind: index, folder: files, base_url: \
    \"https://docs.example\"}\n  voices: {kind: openai, base_url: \"http://127.0.0.1:9\", models: \
    [one, two, three], health: false}\nsearch: {cache_seconds: 0}\n";

/// A tool, and the path that is behind it.
struct Call {
    tool: &'static str,
    method: &'static str,
    path: &'static str,
    /// With each of these in turn.
    arguments: Vec<Value>,
    /// What every answer has, in one form or the other.
    is_right: fn(&[u8]) -> bool,
    /// How many times the plain request it may cost. The protocol costs 80 µs whatever the call does.
    bar: f64,
}

pub(crate) async fn rows(effort: &Effort) {
    let name = |tool: &str| format!("/mcp, call of `{tool}`, CPU, {CONNECTIONS} connections");
    let wanted: Vec<Call> =
        calls().into_iter().filter(|call| effort.is_wanted(&name(call.tool))).collect();
    if wanted.is_empty() {
        return;
    }
    let mut home = Home::sqlite(CONFIGURATION).await;
    home.people(MEMBERS).await;
    Corpus::new().write(&home.folder.path().join("files"), DOCUMENTS);
    let service = Service::start(&home);
    Client::new(&service, &home).wait_for_index();
    let turns = Turns { rounds: effort.rounds, round: effort.round, connections: CONNECTIONS };
    for call in wanted {
        let all = [
            contender("tool", &service, call.tools(service.address, &home)),
            contender("plain", &service, call.plain(service.address, &home)),
        ];
        let measured = turns.measure(&all).await;
        let ratio = ratios(&measured[0], &measured[1], |round| round.cpu_us);
        let cpu = [0, 1].map(|at| median(&measured[at], |round| round.cpu_us));
        let rate = [0, 1].map(|at| median(&measured[at], |round| round.per_second));
        let said = |at: usize| format!("{} {:.0} µs, {:.0}/s", all[at].name, cpu[at], rate[at]);
        print(&name(call.tool), &said(0), &said(1), &ratio, Some(Goal::times(call.bar)));
    }
    drop(service);
    home.check_ledger();
}

fn contender(name: &'static str, service: &Service, target: Target) -> Contender {
    Contender { name, processes: service.processes.clone(), target }
}

fn calls() -> Vec<Call> {
    let questions = Corpus::new().questions(3, QUESTIONS, DOCUMENTS);
    vec![
        Call {
            tool: "web_search",
            method: "POST",
            path: "/v1/search",
            arguments: questions.into_iter().map(|query| json!({"query": query})).collect(),
            is_right: |body| has(body, "\"object\":\"search\""),
            bar: 2.0,
        },
        Call {
            tool: "list_models",
            method: "GET",
            path: "/v1/models",
            arguments: vec![json!({})],
            is_right: |body| has(body, "voices/three"),
            bar: 3.0,
        },
        Call {
            tool: "account",
            method: "GET",
            path: "/v1/me",
            arguments: vec![json!({})],
            is_right: |body| has(body, "balance_micros"),
            bar: 3.0,
        },
    ]
}

fn has(body: &[u8], text: &str) -> bool {
    memmem::find(body, text.as_bytes()).is_some()
        && memmem::find(body, b"\"isError\":true").is_none()
}

impl Call {
    /// As many requests as there are arguments and members.
    fn requests(&self, home: &Home, request: impl Fn(&str, &Value) -> Vec<u8>) -> Vec<Vec<u8>> {
        let count = self.arguments.len().max(home.keys.len());
        let pairs = self.arguments.iter().cycle().zip(home.keys.iter().cycle()).take(count);
        pairs.map(|(arguments, key)| request(key, arguments)).collect()
    }

    fn tools(&self, address: SocketAddr, home: &Home) -> Target {
        let requests = self.requests(home, |key, arguments| {
            let params = json!({"name": self.tool, "arguments": arguments});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            post(address, "/mcp", key, &body.to_string())
        });
        Target::new(address, requests, self.is_right)
    }

    fn plain(&self, address: SocketAddr, home: &Home) -> Target {
        let requests = self.requests(home, |key, arguments| match self.method {
            "POST" => post(address, self.path, key, &arguments.to_string()),
            _ => format!(
                "GET {} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
                 accept: application/json\r\nuser-agent: bench\r\n\r\n",
                self.path
            )
            .into_bytes(),
        });
        Target::new(address, requests, self.is_right)
    }
}
