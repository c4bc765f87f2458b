//! The web search of models: executed by the service, cited in the answer, paid by the member.

use std::sync::Arc;

use agent_test_support::upstream::{ResponsesApi, Step, Upstream};
use agent_test_support::wait::eventually;
use gateway_store::Scope;
use serde_json::{Value, json};

use crate::console::Client;
use crate::fixture::provider;
use crate::raw::events;
use crate::search::searxng;
use crate::search_peer::{Peer, Reply};
use crate::site::{HOST, Names, PUBLIC, Setup as SiteWorld, Site};
use crate::support::{Answer, PRICE};

const PAGE: &str = "<html><head><title>Linnet</title></head><body><article><h1>Linnet</h1>\
    <p>The linnet is a small bird of the finch family, and its song is a fast warble.</p>\
    </article></body></html>";

struct Setup {
    open: Upstream,
    claude: Upstream,
    peer: Peer,
    site: Site,
    running: SiteWorld,
}

fn setup() -> Setup {
    let [open, claude] = std::array::from_fn(|_| Upstream::start());
    open.set_responses(ResponsesApi::Absent);
    let site = Site::of(&[("/linnet", "text/html", PAGE), ("/other", "text/html", PAGE)]);
    let peer = Peer::start(searxng(&[&site.url("/linnet"), &site.url("/missing")]));
    let text = format!(
        "listen: 127.0.0.1:0\n\
         database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
         providers:\n{}\n{}\n  find: {{kind: searxng, base_url: \"{}\"}}\n\
         prices: {{default_micros: {{search: 100, fetch: 10}}}}\n\
         fetch: {{allow_private: [\"{HOST}:{}\"]}}\n",
        provider("open", &open, "kind: openai, models: [echo], health: false"),
        provider("claude", &claude, "kind: anthropic, models: [echo], health: false"),
        peer.base_url(),
        site.address.port(),
    );
    let names = Names::new(&[(HOST, &[&[PUBLIC]])]);
    let running = SiteWorld::start(Arc::new(tempfile::tempdir().unwrap()), &text, names);
    Setup { open, claude, peer, site, running }
}

impl Setup {
    fn post(&self, path: &str, body: &Value) -> Answer {
        self.running.service.post(path, self.running.ada.key.as_str(), body)
    }

    fn respond(&self, model: &str, more: &Value) -> Answer {
        let mut body = json!({"model": model, "input": "use web_search for linnet",
            "tools": [{"type": "web_search"}]});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.post("/v1/responses", &body)
    }

    fn message(&self, more: &Value) -> Answer {
        let mut body = json!({"model": "open/echo", "max_tokens": 500,
            "messages": [{"role": "user", "content": "use web_search for linnet"}],
            "tools": [{"type": "web_search_20250305", "name": "web_search"}]});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.post("/v1/messages", &body)
    }
}

/// What a search, one page that can be read and one that cannot, and an answer cost.
const ALL: i64 = PRICE + 100 + 10;

#[track_caller]
fn check_response(setup: &Setup, response: &Value) {
    let kinds: Vec<&str> = response["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["web_search_call", "message"], "{response}");
    let part = &response["output"][1]["content"][0];
    assert!(part["text"].as_str().unwrap().contains("a fast warble"), "{part}");
    let citation = &part["annotations"][0];
    assert_eq!(citation["type"], "url_citation");
    assert_eq!(citation["url"], setup.site.url("/linnet"));
    assert!(setup.peer.asked()[0].param("q").is_some());
}

#[test]
fn a_response_searches_fetches_and_cites() {
    let setup = setup();
    let answer = setup.respond("open/echo", &json!({}));
    check_response(&setup, &answer.good());
    assert_eq!(setup.running.paid(), ALL);
    let rounds = setup.open.completions();
    let last = rounds.last().unwrap().json();
    let said = last["messages"].as_array().unwrap();
    assert_eq!(said[said.len() - 1]["role"], "tool", "{last}");
}

#[test]
fn receipts_of_searches_and_pages_name_their_request() {
    let setup = setup();
    let id = setup.respond("open/echo", &json!({})).header("x-receipt-id").to_owned();
    let (service, key) = (&setup.running.service, setup.running.ada.key.as_str());
    let receipt = |id: &str| service.get(&format!("/v1/requests/{id}"), key).good();
    let parent = receipt(&id);
    let children = parent["children"].as_array().unwrap();
    let charges: Vec<_> =
        children.iter().map(|child| (&child["operation"], &child["charge_micros"])).collect();
    let [search, page] = [json!("search"), json!("fetch")];
    // One of the two pages cannot be read.
    let expected = [(&search, &json!(100)), (&page, &json!(10)), (&page, &json!(0))];
    assert_eq!((charges.len(), charges[0]), (3, expected[0]), "{parent}");
    assert!(expected.iter().all(|charge| charges.contains(charge)), "{parent}");
    assert_eq!(parent["parent"], Value::Null);
    let mut console = Client::signed_in(service, key);
    let shown = console.get(&format!("/receipts/{id}"));
    for child in children {
        let child = child["id"].as_str().unwrap();
        assert_eq!(
            (&receipt(child)["parent"], &receipt(child)["children"]),
            (&json!(id), &json!([]))
        );
        assert!(shown.text().contains(child), "{}", shown.text());
        let link = format!("href=\"/receipts/{id}\"");
        assert!(console.get(&format!("/receipts/{child}")).text().contains(&link));
    }
}

#[test]
fn a_streamed_response_contains_its_searches() {
    let setup = setup();
    for model in ["open/echo", "claude/echo"] {
        let answer = setup.respond(model, &json!({"stream": true}));
        let events = events(answer.text());
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        let place = |kind: &str| kinds.iter().position(|found| *found == kind).unwrap();
        let searching = place("response.web_search_call.searching");
        let completed = place("response.web_search_call.completed");
        assert!(searching < completed && completed < place("response.output_text.delta"));
        check_response(&setup, &events.last().unwrap()["response"]);
    }
    // The second answer finds the same results in the caches of search and pages.
    assert_eq!(setup.running.paid(), 2 * ALL);
    assert_eq!(setup.claude.completions().len(), 2);
}

#[test]
fn a_background_response_searches_fetches_and_cites() {
    let setup = setup();
    let id = setup.respond("open/echo", &json!({"background": true})).good()["id"].clone();
    let (service, key) = (&setup.running.service, setup.running.ada.key.as_str());
    let path = format!("/v1/responses/{}", id.as_str().unwrap());
    let mut response = Value::Null;
    eventually("the response ends", || {
        response = service.get(&path, key).good();
        response["status"] == "completed"
    });
    check_response(&setup, &response);
    assert_eq!(setup.running.paid(), ALL);
}

#[test]
fn a_message_searches_fetches_and_cites() {
    let setup = setup();
    let message = setup.message(&json!({})).good();
    let content = message["content"].as_array().unwrap();
    let kinds: Vec<&str> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["server_tool_use", "web_search_tool_result", "text"], "{message}");
    assert_eq!(content[1]["content"][0]["url"], setup.site.url("/linnet"));
    assert_eq!(content[2]["citations"][0]["url"], setup.site.url("/linnet"), "{message}");
    assert_eq!(message["usage"]["server_tool_use"]["web_search_requests"], 1);
    assert_eq!(setup.running.paid(), ALL);

    let answer = setup.message(&json!({"stream": true}));
    let events = events(answer.text());
    assert_eq!(events.last().unwrap()["type"], "message_stop", "{}", answer.text());
    let starts = events.iter().filter(|event| event["type"] == "content_block_start");
    let kinds: Vec<&str> =
        starts.map(|event| event["content_block"]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["server_tool_use", "web_search_tool_result", "text"]);
}

#[test]
fn the_model_answers_without_the_search_scope() {
    let setup = setup();
    let member = setup.running.ada.member;
    let key = setup
        .running
        .service
        .key_with(member, |key| key.scopes = vec![Scope::Chat, Scope::Responses]);
    let body = json!({"model": "open/echo", "input": "use web_search for linnet",
        "tools": [{"type": "web_search"}]});
    let response = setup.running.service.post("/v1/responses", key.as_str(), &body).good();
    assert_eq!(response["output"][0]["type"], "web_search_call");
    assert_eq!(response["output"][0]["status"], "failed", "{response}");
    assert_eq!(response["output"][1]["type"], "message");
    assert_eq!(setup.running.paid(), PRICE);
    assert_eq!(setup.peer.asked().len(), 0);
}

#[test]
fn searches_per_response_are_limited() {
    let setup = setup();
    let search = || ("web_search".to_owned(), "{\"query\": \"linnet\"}".to_owned());
    let steps = (0..20).map(|_| Step::Turn("", vec![search(), search()])).collect();
    setup.open.script("echo", steps);
    let more =
        json!({"stream": true, "tools": [{"type": "web_search", "search_context_size": "low"}]});
    let answer = setup.respond("open/echo", &more);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(setup.open.completions().len(), 9, "8 rounds, and the request to `/responses`");
    // Ten searches at most; no page is read.
    assert_eq!(setup.running.paid(), PRICE + 10 * 100);
    assert_eq!(setup.site.paths(), Vec::<String>::new());
}

#[test]
fn an_upstream_that_fails_after_a_search_is_not_charged() {
    let setup = setup();
    let search = ("web_search".to_owned(), "{\"query\": \"linnet\"}".to_owned());
    setup.open.script("echo", vec![Step::Turn("", vec![search]), Step::Status(500)]);
    let answer = setup.message(&json!({"stream": true}));
    assert!(answer.text().contains("event: error"), "{}", answer.text());
    // What was searched and read is paid; the answer is not.
    assert_eq!(setup.running.paid(), 110);
}

#[test]
fn a_failed_search_is_reported_to_the_model() {
    let setup = setup();
    setup.peer.script(&vec![Reply::Status(500, ""); 8]);
    let message = setup.message(&json!({})).good();
    let result = &message["content"][1]["content"];
    assert_eq!(result["error_code"], "unavailable", "{message}");
    assert_eq!(setup.running.paid(), PRICE);
}
