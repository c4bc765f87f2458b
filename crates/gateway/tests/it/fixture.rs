//! Configurations with the upstreams that a test needs, and what became of its requests.

use std::sync::Arc;

use agent_test_support::postgres::Database;
use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::support::{Holder, PRICE, Running};

/// What a provider is that speaks as OpenAI does and is left alone by probes.
pub(crate) const PLAIN: &str = "kind: openai, models: [echo], health: false";

/// One entry of `providers`.
pub(crate) fn provider(name: &str, upstream: &Upstream, more: &str) -> String {
    format!(
        "  {name}: {{base_url: \"{}\", api_key: \"{}\", {more}}}\n",
        upstream.base_url(),
        upstream.key()
    )
}

/// A `gateway.yaml` with these entries of `providers` and what else is said.
pub(crate) fn with_providers(providers: &[String], rest: &str) -> String {
    format!(
        "listen: 127.0.0.1:0\n\
         database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
         providers:\n{}\
         prices: {{default_micros: {{chat: {PRICE}, responses: {PRICE}}}}}\n{rest}",
        providers.concat()
    )
}

/// A `gateway.yaml` with one provider `up`.
pub(crate) fn with_one(upstream: &Upstream, more: &str, rest: &str) -> String {
    with_providers(&[provider("up", upstream, more)], rest)
}

/// A `gateway.yaml` with one plain provider `up` whose books are in PostgreSQL.
pub(crate) fn in_postgres(upstream: &Upstream, database: &Database, rest: &str) -> String {
    moved_to(database, &with_one(upstream, PLAIN, rest))
}

/// A `gateway.yaml` whose books are in PostgreSQL instead.
pub(crate) fn moved_to(database: &Database, text: &str) -> String {
    let place = format!("database: \"{}\"", database.url());
    let lines = text.lines().map(|line| match line {
        line if line.starts_with("database:") => place.as_str(),
        line => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Two services on one database. The secret of keys is in the folder that both have.
pub(crate) fn two_in_postgres(
    upstream: &Upstream,
    database: &Database,
    rest: &str,
) -> [Running; 2] {
    let text = in_postgres(upstream, database, rest);
    let folder = Arc::new(tempfile::tempdir().unwrap());
    [0, 1].map(|_| Running::start_in(folder.clone(), &text))
}

/// A service with one plain provider `up`, and a member who can pay for many requests.
pub(crate) fn service(upstream: &Upstream) -> (Running, Holder) {
    service_with(upstream, "")
}

/// The same with more sections of `gateway.yaml`.
pub(crate) fn service_with(upstream: &Upstream, rest: &str) -> (Running, Holder) {
    let running = Running::start(&with_one(upstream, PLAIN, rest));
    let holder = running.holder("ada", 1000 * PRICE);
    (running, holder)
}

/// A chat with one message.
pub(crate) fn chat(text: &str) -> Value {
    json!({"model": "up/echo", "messages": [{"role": "user", "content": text}]})
}

/// The same as a stream.
pub(crate) fn chat_stream(text: &str) -> Value {
    let mut body = chat(text);
    body["stream"] = true.into();
    body
}

/// A request of the messages interface.
pub(crate) fn message(text: &str) -> Value {
    let mut body = chat(text);
    body["max_tokens"] = 100.into();
    body
}

/// The same as a stream.
pub(crate) fn message_stream(text: &str) -> Value {
    let mut body = message(text);
    body["stream"] = true.into();
    body
}

/// A request of the responses interface.
pub(crate) fn response(text: &str) -> Value {
    json!({"model": "up/echo", "input": text})
}

/// By which rule a request ended and what it cost, once it has ended.
pub(crate) fn receipt(service: &Running, holder: &Holder, id: &str) -> (String, i64) {
    let mut found = None;
    eventually("the request has ended", || {
        let answer = service.get(&format!("/v1/requests/{id}"), holder.key.as_str());
        if answer.status == 200 {
            let receipt = answer.json();
            let rule = receipt["rule"].as_str().unwrap().to_owned();
            found = Some((rule, receipt["charge_micros"].as_i64().unwrap()));
        }
        found.is_some()
    });
    found.unwrap()
}

/// What a member has paid, once nothing is held any more; the books must add up.
pub(crate) fn paid(service: &Running, holder: &Holder) -> i64 {
    eventually("nothing is held", || service.account(holder.member).held.get() == 0);
    service.check_ledger();
    1000 * PRICE - service.account(holder.member).balance.get()
}
