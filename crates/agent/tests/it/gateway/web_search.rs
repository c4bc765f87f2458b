//! Web searches of background responses, with the real program.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use agent_test_support::upstream::ResponsesApi;
use agent_test_support::wait::{DEADLINE, eventually};
use serde_json::{Value, json};

use super::{Fixture, Served};

/// A search provider with one result: a page of the same server.
struct Site {
    address: SocketAddr,
    /// The paths that were requested.
    asked: Receiver<String>,
    /// Lets one search answer.
    gate: SyncSender<()>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ((tell, asked), (gate, opened)) = (sync_channel(64), sync_channel(64));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                let path = first.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
                lines.find(String::is_empty);
                // Probes come whenever the service likes.
                if path != "/healthz" {
                    let _ = tell.send(path.clone());
                }
                let (kind, body) = match path.as_str() {
                    "/search" => {
                        let _ = opened.recv();
                        let url = format!("http://{address}/linnet");
                        let found = json!({"url": url, "title": "Linnet", "content": "a bird"});
                        ("application/json", json!({"results": [found]}).to_string())
                    }
                    _ => {
                        ("text/html", "<p>The song of the linnet is a fast warble.</p>".to_owned())
                    }
                };
                let length = body.len();
                let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {kind}");
                let _ = write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}");
            }
        });
        Self { address, asked, gate }
    }
}

struct Setup {
    fixture: Fixture,
    served: Served,
    site: Site,
    key: String,
}

fn setup() -> Setup {
    let (fixture, site) = (Fixture::new(), Site::start());
    fixture.upstream.set_responses(ResponsesApi::Absent);
    let address = site.address;
    fixture.configure(&format!(
        "  find: {{kind: searxng, base_url: \"http://{address}\"}}\n\
         prices: {{default_micros: {{responses: 1000, search: 100, fetch: 10}}}}\n\
         fetch: {{robots: false, allow_private: [\"{address}\"]}}\n"
    ));
    let key = fixture.alice();
    let served = fixture.serve();
    Setup { fixture, served, site, key }
}

impl Setup {
    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, answer) = self.served.ask(method, path, &self.key, body);
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }

    /// Starts a response; its path.
    fn start(&self) -> String {
        let body = json!({"model": "test/echo", "input": "use web_search for linnet",
            "background": true, "tools": [{"type": "web_search"}]});
        let started = self.ask("POST", "/v1/responses", &body.to_string());
        format!("/v1/responses/{}", started["id"].as_str().unwrap())
    }

    fn wait(&self, path: &str, status: &str) -> Value {
        let mut found = Value::Null;
        eventually("the response gets there", || {
            found = self.ask("GET", path, "");
            found["status"] == status
        });
        found
    }

    /// Operations with their charges, in order, once nothing is held; the books must add up.
    fn charges(&self) -> Vec<(String, i64)> {
        eventually("nothing is held", || self.ask("GET", "/v1/me", "")["held_micros"] == 0);
        assert_eq!(self.fixture.json(["ledger", "check"])["wrong"], 0);
        let statement = self.fixture.json(["ledger", "statement", "alice"]);
        let lines = statement["lines"].as_array().unwrap().iter().rev();
        let charges = lines.filter(|line| line["kind"] == "charge");
        let charge = |line: &Value| {
            let receipt = self.receipt(line["receipt"].as_str().unwrap());
            let operation = receipt["operation"].as_str().unwrap().to_owned();
            (operation, line["amount_micros"].as_i64().unwrap())
        };
        charges.map(charge).collect()
    }

    fn receipt(&self, id: &str) -> Value {
        self.fixture.json(["ledger", "receipt", id])
    }

    /// The receipt of the newest charge of a response.
    fn newest(&self) -> Value {
        let statement = self.fixture.json(["ledger", "statement", "alice"]);
        self.receipt(statement["lines"][0]["receipt"].as_str().unwrap())
    }
}

#[test]
fn each_step_of_a_background_response_is_charged_once() {
    let setup = setup();
    setup.site.gate.send(()).unwrap();
    let response = setup.wait(&setup.start(), "completed");
    assert_eq!(response["output"][0]["type"], "web_search_call", "{response}");
    let text = &response["output"][1]["content"][0]["text"];
    assert!(text.as_str().unwrap().contains("a fast warble"), "{response}");
    let expected = [("search", -100), ("fetch", -10), ("responses", -1000)];
    assert_eq!(setup.charges(), expected.map(|(name, micros)| (name.to_owned(), micros)));

    let parent = setup.newest();
    let children = parent["children"].as_array().unwrap();
    let sums: Vec<_> = children.iter().map(|it| (&it["operation"], &it["charge_micros"])).collect();
    assert_eq!(sums, [(&json!("search"), &json!(100)), (&json!("fetch"), &json!(10))]);
    for child in children {
        let id = child["id"].as_str().unwrap();
        assert_eq!(setup.receipt(id)["parent"], parent["id"]);
        // As the member sees it.
        assert_eq!(setup.ask("GET", &format!("/v1/requests/{id}"), "")["parent"], parent["id"]);
        let shown = setup.fixture.run(["ledger", "receipt", id]).stdout;
        assert!(shown.contains(parent["id"].as_str().unwrap()), "{shown}");
    }
    let path = format!("/v1/requests/{}", parent["id"].as_str().unwrap());
    assert_eq!(&setup.ask("GET", &path, "")["children"], &parent["children"]);
}

#[test]
fn cancelling_during_a_search_charges_only_the_response() {
    let setup = setup();
    let path = setup.start();
    assert_eq!(setup.site.asked.recv_timeout(DEADLINE).unwrap(), "/search");
    setup.wait(&path, "in_progress");
    assert_eq!(setup.ask("POST", &format!("{path}/cancel"), "")["status"], "cancelled");
    assert_eq!(setup.charges(), [("responses".to_owned(), -1000)]);
    let parent = setup.newest();
    assert_eq!(parent["rule"], "cancelled_late");
    let mut child = Value::Null;
    eventually("the search has ended", || {
        child = setup.newest()["children"][0].clone();
        !child.is_null()
    });
    assert_eq!((&child["rule"], &child["charge_micros"]), (&"client_left_early".into(), &0.into()));
    assert!(setup.site.asked.try_recv().is_err(), "a page was read");
}
