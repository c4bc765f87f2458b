//! Several upstreams for one model: order, weights, failure before and after the first byte, and
//! coming back.

use agent_test_support::postgres::Cluster;
use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;
use ledger::HoldId;
use serde_json::{Value, json};

use crate::console::Client;
use crate::fixture::{moved_to, paid, provider, receipt, with_providers};
use crate::raw::{Raw, events};
use crate::support::{Answer, Holder, PRICE, Running};

const PLAIN: &str = "kind: openai, models: [echo], health: false";

struct Setup {
    first: Upstream,
    second: Upstream,
    service: Running,
    ada: Holder,
}

fn setup(provider_of_each: &str, models: &str) -> Setup {
    let [first, second] = std::array::from_fn(|_| Upstream::start());
    let text = two_providers(&first, &second, provider_of_each, models);
    started([first, second], &text)
}

fn two_providers(first: &Upstream, second: &Upstream, of_each: &str, models: &str) -> String {
    let providers = [provider("first", first, of_each), provider("second", second, of_each)];
    with_providers(&providers, models)
}

fn started([first, second]: [Upstream; 2], text: &str) -> Setup {
    let service = Running::start(text);
    let ada = service.holder("ada", 1000 * PRICE);
    Setup { first, second, service, ada }
}

impl Setup {
    fn body(model: &str, text: &str) -> Value {
        json!({"model": model, "messages": [{"role": "user", "content": text}]})
    }

    fn ask(&self, model: &str, text: &str) -> Answer {
        let body = Self::body(model, text);
        self.service.post("/v1/chat/completions", self.ada.key.as_str(), &body)
    }

    fn asked(&self) -> (usize, usize) {
        (self.first.completions().len(), self.second.completions().len())
    }
}

#[test]
fn a_failure_before_the_first_byte_tries_the_next_upstream() {
    let setup = setup(PLAIN, "models: {both: [first/echo, second/echo]}\n");
    assert_eq!(setup.ask("both", "hello").status, 200);
    assert_eq!(setup.asked(), (1, 0));
    let faults = [
        Step::Status(500),
        Step::Status(429),
        Step::Status(401),
        Step::Status(404),
        Step::Reset,
        Step::CutBeforeFirst,
        Step::CutAfterHead,
        Step::MalformedJson,
        Step::HtmlError,
    ];
    for (place, fault) in faults.iter().enumerate() {
        setup.first.script("echo", vec![fault.clone()]);
        let answer = setup.ask("both", "hello");
        assert_eq!(answer.good()["choices"][0]["message"]["content"], "hello", "{fault:?}");
        assert_eq!(setup.asked(), (2 + place, 1 + place), "{fault:?}");
        let path = format!("/v1/requests/{}", answer.header("x-receipt-id"));
        let receipt = setup.service.get(&path, setup.ada.key.as_str()).good();
        assert_eq!(receipt["model"], "second/echo");
    }
    // What is wrong with the request is wrong everywhere.
    setup.first.script("echo", vec![Step::Status(400)]);
    assert_eq!(setup.ask("both", "hello").failure(), (400, "invalid_request".to_owned()));
    assert_eq!(setup.asked(), (11, 9));
    setup.first.go_down();
    assert_eq!(setup.ask("both", "hello").status, 200);
    setup.second.go_down();
    assert_eq!(setup.ask("both", "hello").failure(), (503, "upstream_unavailable".to_owned()));
    setup.first.come_back();
    assert_eq!(setup.ask("both", "hello").status, 200);
    assert_eq!(paid(&setup.service, &setup.ada), 12 * PRICE);
}

#[test]
fn a_receipt_lists_attempted_models_and_response_times() {
    let both = "models: {both: [first/echo, second/echo]}\n";
    let cluster = Cluster::shared();
    for database in [None, Some(cluster.database())] {
        let upstreams: [Upstream; 2] = std::array::from_fn(|_| Upstream::start());
        let mut text = two_providers(&upstreams[0], &upstreams[1], PLAIN, both);
        if let Some(database) = &database {
            text = moved_to(database, &text);
        }
        let setup = started(upstreams, &text);
        let ask = || {
            let id = setup.ask("both", "hello").header("x-receipt-id").to_owned();
            let path = format!("/v1/requests/{id}");
            (id, setup.service.get(&path, setup.ada.key.as_str()).good())
        };
        let tried = |receipt: &Value| -> Vec<(String, String)> {
            let attempts = receipt["attempts"].as_array().unwrap();
            assert!(attempts.iter().all(|it| it["took_ms"].is_u64()), "{attempts:?}");
            let text_of = |value: &Value| value.as_str().unwrap().to_owned();
            attempts.iter().map(|it| (text_of(&it["model"]), text_of(&it["outcome"]))).collect()
        };
        let of = |model: &str, outcome: &str| (model.to_owned(), outcome.to_owned());

        // One attempt takes no more than its time.
        let (id, receipt) = ask();
        assert_eq!(tried(&receipt), [of("first/echo", "answered")]);
        let (store, id) = (setup.service.store.clone(), HoldId::parse(&id).unwrap());
        let stored = setup.service.wait(async move { store.receipt(None, id).await.unwrap() });
        let took = receipt["attempts"][0]["took_ms"].to_string();
        assert_eq!(stored.unwrap().attempts.as_deref(), Some(format!("[{took}]").as_str()));

        setup.first.script("echo", vec![Step::Status(500)]);
        let (id, receipt) = ask();
        let expected = [of("first/echo", "broken"), of("second/echo", "answered")];
        assert_eq!(tried(&receipt), expected);
        let mut client = Client::signed_in(&setup.service, setup.ada.key.as_str());
        let page = client.get(&format!("/receipts/{id}"));
        let rows = page.text().split("id=\"attempts\"").nth(1).unwrap().to_owned();
        let places = ["first/echo", "broken", "second/echo", "answered", " ms"];
        let places = places.map(|word| rows.find(word).unwrap_or_else(|| panic!("{word}: {rows}")));
        assert!(places[..4].is_sorted(), "{rows}");

        // All that failed are shown, too.
        setup.first.script("echo", vec![Step::Status(429)]);
        setup.second.go_down();
        let expected = [of("first/echo", "busy"), of("second/echo", "unreachable")];
        let failed = setup.ask("both", "hello");
        assert_eq!(failed.status, 503);
        let path = format!("/v1/requests/{}", failed.header("x-receipt-id"));
        let receipt = setup.service.get(&path, setup.ada.key.as_str()).good();
        assert_eq!(
            (tried(&receipt), &receipt["rule"]),
            (expected.into(), &"upstream_failed".into())
        );
    }
}

#[test]
fn a_stream_falls_back_only_before_its_first_byte() {
    let setup = setup(PLAIN, "models: {both: [first/echo, second/echo]}\n");
    let mut body = Setup::body("both", "one two");
    body["stream"] = true.into();
    let stream = || {
        let key = setup.ada.key.as_str();
        let mut raw = Raw::post(setup.service.address, "/v1/chat/completions", key, &body);
        let head = raw.head();
        (head.status, head.header("x-receipt-id").to_owned(), raw.body())
    };
    for (place, fault) in
        [Step::CutAfterHead, Step::Status(503), Step::CutAfter(0)].into_iter().enumerate()
    {
        setup.first.script("echo", vec![fault]);
        let (status, _, text) = stream();
        assert!(status == 200 && text.ends_with("data: [DONE]\n\n"), "{text}");
        assert_eq!(setup.asked(), (place + 1, place + 1));
    }
    setup.first.script("echo", vec![Step::CutMidEvent]);
    let (status, id, text) = stream();
    assert_eq!(status, 200);
    let last = events(&text).pop().unwrap();
    assert_eq!(last["error"]["code"], "upstream_unavailable");
    assert_eq!(setup.asked(), (4, 3));
    assert_eq!(receipt(&setup.service, &setup.ada, &id), ("upstream_failed".to_owned(), 0));
    assert_eq!(paid(&setup.service, &setup.ada), 3 * PRICE);
}

#[test]
fn weights_determine_the_share_of_requests() {
    let models = "models: {mixed: {targets: [{model: first/echo, weight: 3}, \
                  {model: second/echo, weight: 1}]}}\n";
    let setup = setup(PLAIN, models);
    for _ in 0..200 {
        assert_eq!(setup.ask("mixed", "x").status, 200);
    }
    let (first, second) = setup.asked();
    assert_eq!(first + second, 200);
    // Six standard deviations about 150.
    assert!((113..=187).contains(&first), "{first} to {second}");
}

const LOOKED_AFTER: &str = "kind: openai, models: [echo], \
    health: {interval: 0.05, timeout: 1, failures: 3, eject: 600}";

fn usable(service: &Running, name: &str) -> bool {
    let figures = service.get("/metrics", "").text().to_owned();
    let mark = format!("agent_gateway_provider_usable{{provider=\"{name}\"}} 1");
    figures.lines().any(|line| line == mark)
}

#[test]
fn an_ejected_upstream_is_skipped_while_another_is_healthy() {
    let slowly = LOOKED_AFTER.replace("0.05", "600");
    let setup = setup(&slowly, "models: {both: [first/echo, second/echo]}\n");
    eventually("both were probed", || {
        usable(&setup.service, "first") && usable(&setup.service, "second")
    });
    setup.first.script("echo", vec![Step::Status(500); 3]);
    for _ in 0..5 {
        assert_eq!(setup.ask("both", "x").status, 200);
    }
    assert_eq!(setup.asked(), (3, 5));
    assert!(!usable(&setup.service, "first"));
    // Where there is no other, it is asked all the same.
    assert_eq!(setup.ask("first/echo", "x").status, 200);
    assert_eq!(setup.asked(), (4, 5));
}

#[test]
fn an_upstream_is_used_again_after_it_recovers() {
    let setup = setup(LOOKED_AFTER, "");
    eventually("it is usable", || usable(&setup.service, "first"));
    assert_eq!(setup.ask("first/echo", "x").status, 200);
    setup.first.go_down();
    eventually("it is left out", || !usable(&setup.service, "first"));
    assert_eq!(setup.ask("first/echo", "x").failure(), (503, "capability_unavailable".to_owned()));
    assert_eq!(setup.ask("second/echo", "x").status, 200);
    setup.first.come_back();
    eventually("it is back", || setup.ask("first/echo", "x").status == 200);
    assert_eq!(paid(&setup.service, &setup.ada), 3 * PRICE);
}

#[test]
fn closed_idle_connections_are_not_reused() {
    let setup = setup(PLAIN, "");
    for _ in 0..5 {
        assert_eq!(setup.ask("first/echo", "x").status, 200);
        setup.first.cut_connections();
        eventually("they are cut", || setup.first.open_connections() == 0);
        // By now the service has seen it too.
        assert_eq!(setup.service.get("/healthz", "").status, 200);
    }
    assert_eq!(setup.first.connections(), 5);
    assert_eq!(paid(&setup.service, &setup.ada), 5 * PRICE);
}

#[test]
fn concurrent_requests_per_upstream_are_limited() {
    let limited = format!("{PLAIN}, max_concurrency: 1");
    let setup = setup(&limited, "models: {both: [first/echo, second/echo]}\n");
    let body = Setup::body("both", "[[gate]] x");
    let ask =
        || Raw::post(setup.service.address, "/v1/chat/completions", setup.ada.key.as_str(), &body);
    let mut running = [ask(), ask()];
    eventually("both are asked", || setup.asked() == (1, 1));
    assert_eq!(setup.ask("both", "x").failure(), (503, "upstream_unavailable".to_owned()));
    setup.first.open_gate();
    setup.second.open_gate();
    assert!(running.iter_mut().all(|raw| raw.head().status == 200));
    assert_eq!(setup.ask("both", "x").status, 200);
}

#[test]
fn discovered_models_can_be_requested() {
    let setup = setup("kind: openai, discover: true", "");
    setup.first.set_models(&["echo", "a/b:c"]);
    let listed = || {
        let list = setup.service.get("/v1/models", setup.ada.key.as_str()).good();
        let ids = list["data"].as_array().unwrap().iter();
        ids.map(|model| model["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    eventually("they are found", || listed().iter().any(|id| id == "second/chunks-64"));
    assert_eq!(setup.ask("second/echo-mini", "x").status, 200);
}

#[test]
fn retry_after_is_the_shortest_wait_of_busy_upstreams() {
    let setup = setup(PLAIN, "models: {both: [first/echo, second/echo]}\n");
    let told = |first: Step, second: Step| {
        setup.first.script("echo", vec![first]);
        setup.second.script("echo", vec![second]);
        let answer = setup.ask("both", "x");
        assert_eq!(answer.failure(), (503, "upstream_unavailable".to_owned()));
        answer.header("retry-after").to_owned()
    };
    assert_eq!(told(Step::RetryAfter(503, 40), Step::RetryAfter(429, 9)), "9");
    assert_eq!(told(Step::RetryAfter(429, 9), Step::RetryAfter(503, 40)), "9");
    assert_eq!(told(Step::RetryAfter(529, 30), Step::RetryAfter(503, 86_400)), "30");
    assert_eq!(told(Step::RetryAfter(503, 7000), Step::RetryAfter(503, 86_400)), "120");
    // One that only failed may be back at any time.
    assert_eq!(told(Step::Status(500), Step::RetryAfter(503, 40)), "2");
    assert_eq!(told(Step::RetryAfter(503, 1), Step::Status(500)), "1");
    assert_eq!(paid(&setup.service, &setup.ada), 0);
}

#[test]
fn unfit_upstream_does_not_hide_a_busy_one() {
    let [busy, wordless] = std::array::from_fn(|_| Upstream::start());
    let claude = "kind: anthropic, models: [echo], health: false";
    let providers = [provider("busy", &busy, PLAIN), provider("wordless", &wordless, claude)];
    let models = "models: {both: [busy/echo, wordless/echo]}\n";
    let service = Running::start(&with_providers(&providers, models));
    let ada = service.holder("ada", 1000 * PRICE);
    let mut body = Setup::body("both", "x");
    body["logprobs"] = true.into();
    let ask = || service.post("/v1/chat/completions", ada.key.as_str(), &body);
    busy.script("echo", vec![Step::RetryAfter(503, 9)]);
    let answer = ask();
    assert_eq!(answer.failure(), (503, "upstream_unavailable".to_owned()));
    assert_eq!(answer.header("retry-after"), "9");
    assert_eq!(ask().status, 200);
    assert_eq!((busy.completions().len(), wordless.completions().len()), (2, 0));
}

#[test]
fn attempts_per_request_are_limited() {
    const MAX_ATTEMPTS: usize = 4;
    let upstreams: [Upstream; MAX_ATTEMPTS + 2] = std::array::from_fn(|_| Upstream::start());
    let named = upstreams.iter().enumerate();
    let providers: Vec<String> =
        named.map(|(place, upstream)| provider(&format!("p{place}"), upstream, PLAIN)).collect();
    let targets: Vec<String> = (0..upstreams.len()).map(|place| format!("p{place}/echo")).collect();
    let models = format!("models: {{all: [{}]}}\n", targets.join(", "));
    let service = Running::start(&with_providers(&providers, &models));
    let ada = service.holder("ada", 1000 * PRICE);
    let ask = || service.post("/v1/chat/completions", ada.key.as_str(), &Setup::body("all", "x"));
    let asked =
        || upstreams.iter().map(|upstream| upstream.completions().len()).collect::<Vec<_>>();
    for upstream in &upstreams[..MAX_ATTEMPTS] {
        upstream.script("echo", vec![Step::Status(500)]);
    }
    assert_eq!(ask().failure(), (503, "upstream_unavailable".to_owned()));
    assert_eq!(asked(), [1, 1, 1, 1, 0, 0]);
    // The last that may be asked may answer.
    for upstream in &upstreams[..MAX_ATTEMPTS - 1] {
        upstream.script("echo", vec![Step::Status(500)]);
    }
    assert_eq!(ask().status, 200);
    assert_eq!(asked(), [2, 2, 2, 2, 0, 0]);
    assert_eq!(paid(&service, &ada), PRICE);
}
