//! `POST /v1/search`: who is asked, in which words, what becomes of the answers, and who pays.

use std::time::Duration;

use agent_test_support::wait::eventually;
use gateway_store::Scope;
use http::Request;
use serde_json::{Value, json};

use crate::fixture::{paid, receipt};
use crate::search_peer::{Peer, Reply};
use crate::support::{Answer, Holder, PRICE, Running};

/// The key of every provider.
const KEY: &str = "a-key-of-a-provider";

/// An answer of `SearXNG`, as its documentation has it.
pub(crate) fn searxng(urls: &[&str]) -> Reply {
    let results = urls.iter().map(|url| {
        json!({
            "url": url, "title": "A title", "content": "What it says", "publishedDate": null,
            "engine": "duckduckgo", "engines": ["duckduckgo"], "positions": [1], "score": 1.0,
            "category": "general", "template": "default.html", "parsed_url": ["https", "x"],
        })
    });
    let results: Vec<Value> = results.collect();
    Reply::Json(json!({
        "query": "q", "number_of_results": 0, "results": results, "answers": [],
        "corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": [],
    }))
}

/// An answer of Brave, as its documentation has it.
fn brave() -> Reply {
    Reply::Json(json!({
        "type": "search",
        "query": {"original": "q", "more_results_available": true},
        "mixed": {"type": "mixed", "main": []},
        "web": {"type": "search", "family_friendly": true, "results": [{
            "title": "Rust &amp; more", "url": "https://www.rust-lang.org/learn",
            "is_source_local": false, "description": "A <strong>language</strong> for\n everyone",
            "page_age": "2024-05-01T12:00:00", "age": "May 1, 2024", "type": "search_result",
            "subtype": "generic", "language": "en",
            "meta_url": {"scheme": "https", "netloc": "rust-lang.org", "path": "› learn"},
        }]},
    }))
}

/// An answer of Tavily, as its documentation has it.
fn tavily() -> Reply {
    Reply::Json(json!({
        "query": "q", "answer": null, "images": [], "response_time": 1.1, "request_id": "r",
        "results": [{
            "title": "Rust", "url": "https://doc.rust-lang.org/book/", "content": "The book",
            "score": 0.87, "raw_content": null, "published_date": "Wed, 01 May 2024 12:00:00 GMT",
        }],
    }))
}

/// One entry of `providers`.
fn entry(name: &str, kind: &str, peer: &Peer, more: &str) -> String {
    format!("  {name}: {{kind: {kind}, base_url: \"{}\", api_key: {KEY}{more}}}\n", peer.base_url())
}

/// A service with these entries of `providers`, and a member who can pay.
fn service(providers: &[String], rest: &str) -> (Running, Holder) {
    let running = Running::start(&format!(
        "listen: 127.0.0.1:0\n\
         database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
         providers:\n{}\
         prices: {{default_micros: {{search: {PRICE}}}}}\n{rest}",
        providers.concat()
    ));
    let ada = running.holder("ada", 1000 * PRICE);
    (running, ada)
}

fn ask(service: &Running, holder: &Holder, body: &Value) -> Answer {
    service.post("/v1/search", holder.key.as_str(), body)
}

fn addresses(answer: &Answer) -> Vec<String> {
    let good = answer.good();
    let results = good["results"].as_array().unwrap().iter();
    results.map(|result| result["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn searxng_requests_follow_its_documentation() {
    let peer = Peer::start(searxng(&["https://example.com/a"]));
    let (service, ada) = service(&[entry("sx", "searxng", &peer, "")], "");
    let body = json!({
        "query": " rust \n async ", "max_results": 3, "recency": "week",
        "domains": {"include": ["example.com", "www.Example.org"], "exclude": ["bad.example.com"]},
    });
    let answer = ask(&service, &ada, &body);
    let good = answer.good();
    let asked = peer.asked().pop().unwrap();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("GET", "/search"));
    let words = "rust async (site:example.com OR site:example.org) -site:bad.example.com";
    assert_eq!(asked.param("q"), Some(words));
    assert_eq!((asked.param("format"), asked.param("time_range")), (Some("json"), Some("week")));
    assert_eq!(asked.query.len(), 3);
    assert_eq!(asked.header("accept"), Some("application/json"));
    assert_eq!((asked.header("content-type"), &asked.body), (None, &Value::Null));

    assert_eq!((&good["object"], &good["provider"]), (&json!("search"), &json!("sx")));
    assert_eq!((&good["query"], good.get("cached_at")), (&json!("rust async"), None));
    assert_eq!(good["id"], answer.header("x-receipt-id"));
    let result = json!({
        "title": "A title", "url": "https://example.com/a", "snippet": "What it says",
        "published_at": null, "score": 1.0, "source": "example.com",
    });
    assert_eq!(good["results"], json!([result]));
    assert_eq!(answer.header("x-charge-micros"), PRICE.to_string());
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn brave_requests_follow_its_documentation() {
    let peer = Peer::start(brave());
    let (service, ada) = service(&[entry("br", "brave", &peer, "")], "");
    let answer = ask(&service, &ada, &json!({"query": "rust", "recency": "month"}));
    let asked = peer.asked().pop().unwrap();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("GET", "/web/search"));
    assert_eq!(asked.header("x-subscription-token"), Some(KEY));
    assert_eq!(asked.header("authorization"), None);
    let expected = [
        ("q", "rust"),
        ("count", "10"),
        ("result_filter", "web"),
        ("text_decorations", "false"),
        ("freshness", "pm"),
    ];
    assert_eq!(asked.query, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let result = json!({
        "title": "Rust & more", "url": "https://www.rust-lang.org/learn",
        "snippet": "A language for everyone", "published_at": "2024-05-01T12:00:00Z",
        "score": null, "source": "rust-lang.org",
    });
    assert_eq!(answer.good()["results"], json!([result]));
}

#[test]
fn tavily_requests_follow_its_documentation() {
    let peer = Peer::start(tavily());
    let (service, ada) = service(&[entry("tv", "tavily", &peer, "")], "");
    let body = json!({
        "query": "rust", "max_results": 2, "recency": "day",
        "domains": {"include": ["rust-lang.org"], "exclude": ["x.rust-lang.org"]},
    });
    let answer = ask(&service, &ada, &body);
    let asked = peer.asked().pop().unwrap();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/search"));
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    let expected = json!({
        "query": "rust", "search_depth": "basic", "max_results": 20, "time_range": "day",
        "include_answer": false, "include_raw_content": false, "include_images": false,
        "include_domains": ["rust-lang.org"], "exclude_domains": ["x.rust-lang.org"],
    });
    assert_eq!(asked.body, expected);
    let result = json!({
        "title": "Rust", "url": "https://doc.rust-lang.org/book/", "snippet": "The book",
        "published_at": "2024-05-01T12:00:00Z", "score": 0.87, "source": "doc.rust-lang.org",
    });
    assert_eq!(answer.good()["results"], json!([result]));
}

/// Everything that a service of results can do wrong.
fn faults() -> Vec<Reply> {
    vec![
        Reply::Status(401, "x-why: key"),
        Reply::Status(403, "x-why: json-is-off"),
        Reply::Status(404, "x-why: path"),
        Reply::Status(422, "x-why: query"),
        Reply::Status(429, "retry-after: 7"),
        Reply::Status(500, "x-why: broken"),
        Reply::Status(302, "location: http://127.0.0.1:1/"),
        Reply::Html,
        Reply::Truncated,
        Reply::Unfinished,
        Reply::Silence,
        Reply::Huge,
        Reply::Reset,
        Reply::Json(json!({"error": "no"})),
        Reply::Json(json!([])),
        Reply::Json(json!({"results": [], "unresponsive_engines": [["google", "timeout"]]})),
    ]
}

#[test]
fn every_provider_failure_tries_the_next_one() {
    for kind in ["searxng", "brave", "tavily"] {
        let first = Peer::start(Reply::Reset);
        let second = Peer::start(searxng(&["https://example.com/a"]));
        let quick = ", timeout: 1, health: false";
        let providers =
            [entry("first", kind, &first, quick), entry("second", "searxng", &second, "")];
        let (service, ada) = service(&providers, "search: {cache_seconds: 0}\n");
        let faults = faults();
        for (place, fault) in faults.iter().enumerate() {
            first.script(std::slice::from_ref(fault));
            let answer = ask(&service, &ada, &json!({"query": "rust"}));
            assert_eq!(answer.good()["provider"], "second", "{kind} {fault:?}");
            assert_eq!(first.asked().len(), place + 1, "{kind} {fault:?}");
        }
        let all = i64::try_from(faults.len()).unwrap();
        assert_eq!(paid(&service, &ada), all * PRICE);
    }
}

#[test]
fn failed_search_is_refunded() {
    let peer = Peer::start(Reply::Status(500, "x-why: broken"));
    let quick = ", timeout: 1, health: false";
    let (service, ada) = service(&[entry("sx", "searxng", &peer, quick)], "");
    for fault in faults() {
        peer.script(std::slice::from_ref(&fault));
        let answer = ask(&service, &ada, &json!({"query": "rust"}));
        assert_eq!(answer.failure(), (503, "upstream_unavailable".to_owned()), "{fault:?}");
        assert!(!answer.text().contains(KEY) && !answer.text().contains("127.0.0.1"));
        assert_eq!(answer.header("x-charge-micros"), "0");
        let wait = if matches!(fault, Reply::Status(429, _)) { "7" } else { "2" };
        assert_eq!(answer.header("retry-after"), wait, "{fault:?}");
        let id = answer.header("x-receipt-id");
        assert_eq!(receipt(&service, &ada, id), ("upstream_failed".to_owned(), 0), "{fault:?}");
    }
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn search_cache_is_private_unless_shared() {
    for (more, is_shared) in [("", false), ("search: {share_cache: true}\n", true)] {
        let peer = Peer::start(brave());
        let (service, ada) = service(&[entry("br", "brave", &peer, ", health: false")], more);
        let body = json!({"query": "rust"});
        assert!(ask(&service, &ada, &body).good().get("cached_at").is_none());
        let bob = service.holder("bob", 1_000_000);
        assert_eq!(ask(&service, &bob, &body).good().get("cached_at").is_some(), is_shared);
        assert!(ask(&service, &bob, &body).good().get("cached_at").is_some());
    }
}

#[test]
fn without_a_usable_provider_no_hold_is_opened() {
    let (service, ada) = service(&["  none: {kind: index, folder: nowhere}\n".to_owned()], "");
    let answer = ask(&service, &ada, &json!({"query": "rust"}));
    assert_eq!(answer.failure(), (503, "capability_unavailable".to_owned()));
    assert_eq!((answer.header("x-receipt-id"), answer.header("retry-after")), ("", "5"));
    let id = answer.header("x-request-id");
    let path = format!("/v1/requests/{id}");
    assert_eq!(service.get(&path, ada.key.as_str()).status, 404, "there is no receipt");
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn a_repeatedly_failing_provider_is_the_last_resort() {
    let (failing, other) = (Peer::start(brave()), Peer::start(brave()));
    let more = ", health: {failures: 2, eject: 600}";
    let entries = [entry("one", "brave", &failing, more), entry("two", "brave", &other, more)];
    let (service, ada) = service(&entries, "search: {cache_seconds: 0}\n");
    failing.script(&[Reply::Status(500, "x-why: broken"), Reply::Status(401, "x-why: key")]);
    let body = json!({"query": "rust"});
    for _ in 0..5 {
        assert_eq!(ask(&service, &ada, &body).status, 200);
    }
    assert_eq!((failing.asked().len(), other.asked().len()), (2, 5));
    // Both are ejected: then both are asked.
    other.script(&[Reply::Status(500, "x-why: broken"), Reply::Status(500, "x-why: broken")]);
    for _ in 0..2 {
        assert_eq!(ask(&service, &ada, &body).failure(), (503, "upstream_unavailable".to_owned()));
    }
    assert_eq!(ask(&service, &ada, &body).status, 200);
    assert_eq!(paid(&service, &ada), 6 * PRICE);
}

#[test]
fn empty_results_are_returned_after_all_providers() {
    let first = Peer::start(searxng(&[]));
    let second = Peer::start(brave());
    let providers = [entry("first", "searxng", &first, ""), entry("second", "brave", &second, "")];
    let (service, ada) = service(&providers, "search: {cache_seconds: 0}\n");
    assert_eq!(ask(&service, &ada, &json!({"query": "a"})).good()["provider"], "second");
    second.script(&[Reply::Status(500, "x-why: broken"), Reply::Json(json!({"type": "search"}))]);
    for _ in 0..2 {
        let answer = ask(&service, &ada, &json!({"query": "a"})).good();
        assert_eq!((&answer["provider"], &answer["results"]), (&json!("first"), &json!([])));
    }
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn search_results_are_unique_and_filtered_by_domain() {
    let all = [
        "http://www.example.com/a/?utm_source=x#part",
        "https://example.com/a",
        "https://bad.example.com/b",
        "javascript:alert(1)",
        "https://other.org/c",
        "https://sub.example.com/d?b=2&a=1",
        "https://sub.example.com/d/?a=1&b=2&fbclid=7",
        "https://example.com/e",
        "https://example.com/f",
    ];
    let peer = Peer::start(searxng(&all));
    let (service, ada) = service(&[entry("sx", "searxng", &peer, "")], "");
    let body = json!({
        "query": "a", "max_results": 3,
        "domains": {"include": ["example.com"], "exclude": ["bad.example.com"]},
    });
    let expected = [all[0], all[5], all[7]];
    assert_eq!(addresses(&ask(&service, &ada, &body)), expected);
    let plain = addresses(&ask(&service, &ada, &json!({"query": "a"})));
    assert_eq!(plain, [all[0], all[2], all[4], all[5], all[7], all[8]]);
}

#[test]
fn cached_search_is_charged() {
    let peer = Peer::start(searxng(&["https://example.com/a"]));
    let (service, ada) = service(&[entry("sx", "searxng", &peer, "")], "");
    let body = json!({"query": "rust"});
    let first = ask(&service, &ada, &body).good();
    let second = ask(&service, &ada, &json!({"query": "  rust ", "max_results": 10})).good();
    assert_eq!(peer.asked().len(), 1);
    assert_eq!((&second["results"], &second["provider"]), (&first["results"], &first["provider"]));
    assert!(first.get("cached_at").is_none() && second["cached_at"].is_string(), "{second}");
    assert_ne!(first["id"], second["id"]);
    ask(&service, &ada, &json!({"query": "rust", "max_results": 9})).good();
    assert_eq!(peer.asked().len(), 2);
    assert_eq!(paid(&service, &ada), 3 * PRICE);
}

#[test]
fn idempotency_key_of_a_search_is_charged_once() {
    let peer = Peer::start(searxng(&["https://example.com/a"]));
    let (service, ada) =
        service(&[entry("sx", "searxng", &peer, "")], "search: {cache_seconds: 0}\n");
    let ask = |query: &str| {
        let request = Request::post("/v1/search")
            .header("authorization", format!("Bearer {}", ada.key.as_str()))
            .header("idempotency-key", "one")
            .body(json!({"query": query}).to_string().into_bytes());
        service.send_raw(request.unwrap())
    };
    let (first, second) = (ask("rust"), ask("rust"));
    assert_eq!(first.good(), second.good());
    assert_eq!(second.header("idempotent-replayed"), "true");
    assert_eq!((peer.asked().len(), paid(&service, &ada)), (1, PRICE));
    assert_eq!(ask("go").failure(), (422, "idempotency_mismatch".to_owned()));
}

#[test]
fn search_without_results_is_free() {
    let peer = Peer::start(searxng(&[]));
    let (service, ada) = service(&[entry("sx", "searxng", &peer, "")], "");
    let answer = ask(&service, &ada, &json!({"query": "rust"}));
    assert_eq!(answer.header("x-charge-micros"), "0");
    assert_eq!(answer.good()["results"], json!([]));
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn cached_searches_expire() {
    let peer = Peer::start(searxng(&["https://example.com/a"]));
    let (service, ada) =
        service(&[entry("sx", "searxng", &peer, "")], "search: {cache_seconds: 0.2}\n");
    ask(&service, &ada, &json!({"query": "rust"})).good();
    eventually("it is asked again", || {
        ask(&service, &ada, &json!({"query": "rust"})).good();
        peer.asked().len() > 1
    });
}

#[test]
fn invalid_search_is_rejected_and_free() {
    let peer = Peer::start(searxng(&["https://example.com/a"]));
    let (service, ada) = service(&[entry("sx", "searxng", &peer, "")], "");
    let long = "x".repeat(401);
    let domains: Vec<String> = (0..21).map(|number| format!("a{number}.com")).collect();
    for (body, param, said) in [
        (json!({}), "query", "`query` must be a string"),
        (json!({"query": ""}), "query", "is empty"),
        (json!({"query": " \n "}), "query", "is empty"),
        (json!({"query": long}), "query", "longer than 400"),
        (json!({"query": 7}), "query", "must be a string"),
        (json!({"qurey": "a"}), "qurey", "did you mean `query`?"),
        (json!({"query": "a", "maxResults": 3}), "maxResults", "did you mean `max_results`?"),
        (json!({"query": "a", "zzz": 3}), "zzz", "known fields are `query`, `max_results`"),
        (json!({"query": "a", "max_results": 0}), "max_results", "from 1 to 20"),
        (json!({"query": "a", "max_results": 21}), "max_results", "from 1 to 20"),
        (json!({"query": "a", "max_results": "3"}), "max_results", "from 1 to 20"),
        (json!({"query": "a", "recency": "hour"}), "recency", "`day`, `week`, `month` or `year`"),
        (json!({"query": "a", "domains": ["a.b"]}), "domains", "an object with lists"),
        (json!({"query": "a", "domains": {"includes": []}}), "includes", "did you mean `include`?"),
        (
            json!({"query": "a", "domains": {"include": ["https://a.b"]}}),
            "domains.include",
            "without scheme or path",
        ),
        (json!({"query": "a", "domains": {"exclude": domains}}), "domains.exclude", "at most 20"),
    ] {
        let answer = ask(&service, &ada, &body);
        assert_eq!(answer.failure(), (400, "invalid_request".to_owned()), "{body}");
        let error = &answer.json()["error"];
        assert_eq!(error["param"], param, "{body} {error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{body} {error}");
    }
    for (text, code) in [("{", "invalid_json"), ("[]", "invalid_request"), ("", "invalid_json")] {
        let request = http::Request::post("/v1/search")
            .header("authorization", format!("Bearer {}", ada.key.as_str()))
            .body(text.as_bytes().to_vec())
            .unwrap();
        assert_eq!(service.send_raw(request).failure(), (400, code.to_owned()), "{text}");
    }
    // The limits themselves are allowed.
    let most =
        json!({"query": "x".repeat(400), "max_results": 20, "recency": null, "domains": null});
    ask(&service, &ada, &most).good();
    assert_eq!((peer.asked().len(), paid(&service, &ada)), (1, PRICE));
}

#[test]
fn search_needs_scope_and_balance() {
    let peer = Peer::start(searxng(&["https://example.com/a"]));
    let (service, ada) = service(&[entry("sx", "searxng", &peer, "")], "");
    let body = json!({"query": "rust"});
    let other = service.key_with(ada.member, |new| {
        new.scopes = Scope::ALL.iter().copied().filter(|scope| *scope != Scope::Search).collect();
    });
    let answer = service.post("/v1/search", other.as_str(), &body);
    assert_eq!(answer.failure(), (403, "scope_missing".to_owned()));
    assert_eq!(service.post("/v1/search", "agk_nothing", &body).status, 401);
    let poor = service.holder("poor", PRICE - 1);
    let answer = ask(&service, &poor, &body);
    assert_eq!(answer.failure(), (402, "insufficient_balance".to_owned()));
    assert_eq!(answer.json()["error"]["needed_micros"], PRICE);
    assert!(peer.asked().is_empty(), "nobody was asked");
}

#[test]
fn concurrent_requests_per_search_provider_are_limited() {
    let first = Peer::start(Reply::Silence);
    let second = Peer::start(searxng(&["https://example.com/a"]));
    let one = ", max_concurrency: 1, timeout: 20";
    let providers =
        [entry("first", "searxng", &first, one), entry("second", "searxng", &second, "")];
    let (service, ada) = service(&providers, "search: {cache_seconds: 0}\n");
    let body = json!({"query": "rust"}).to_string();
    let mut waiting = std::net::TcpStream::connect(service.address).unwrap();
    waiting.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!(
        "POST /v1/search HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        ada.key.as_str(),
        body.len()
    );
    std::io::Write::write_all(&mut waiting, format!("{head}{body}").as_bytes()).unwrap();
    eventually("the first is asked", || first.asked().len() == 1);
    let answer = ask(&service, &ada, &json!({"query": "rust"})).good();
    assert_eq!((&answer["provider"], first.asked().len()), (&json!("second"), 1));
    // A client that disconnects before the answer does not pay.
    drop(waiting);
    assert_eq!(paid(&service, &ada), PRICE);
}
