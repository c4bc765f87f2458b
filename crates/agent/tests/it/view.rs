//! `agent metrics view`: the page in a real browser, and its server asked directly.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what the tests share ends them, too")]

// What it looks like: narrow, light and dark.
mod layout;
// What it shows and how it is used.
mod page;
// Who is answered, with what, and for how long.
mod server;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use agent_test_support::browser::{Browser, ColorScheme};
use agent_test_support::command::TestHome;
use agent_test_support::wait::{DEADLINE, eventually};
use serde_json::{Value, json};
use usage_metrics::catalogue::{Architecture, InstallMethod, OsFamily};
use usage_metrics::clock::{Clock, SystemClock, Timestamp};
use usage_metrics::package::{Counter, Resource};
use usage_metrics::store::{CounterBatch, PackageScope, Store, StoreFolder};
use uuid::Uuid;

const TOOL_CALLS: &str = "agent.tool_call.count";

fn agent() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_agent"))
}

fn folder(agent: &TestHome) -> StoreFolder {
    StoreFolder::new(agent.home().join("metrics"))
}

fn open_store(agent: &TestHome) -> Store {
    Store::open(&folder(agent), SystemClock.now(), Uuid::new_v4).unwrap()
}

/// The longest model identifier there can be: a page must hold it too.
fn long_model() -> String {
    "model-".repeat(50)[..256].to_owned()
}

fn counter(name: &str, dimensions: &Value) -> Counter {
    let dimensions: BTreeMap<String, String> = serde_json::from_value(dimensions.clone()).unwrap();
    Counter::find(name, &dimensions).unwrap()
}

fn tool_calls(category: &str, outcome: &str, latency: &str, count: u64) -> (Counter, u64) {
    let dimensions = json!({
        "approval_outcome": "not_required", "latency_bucket": latency, "outcome": outcome,
        "retry_count_bucket": "0", "tool_category": category,
    });
    (counter(TOOL_CALLS, &dimensions), count)
}

fn add(store: &mut Store, at: Timestamp, counts: Vec<(Counter, u64)>) {
    let resource = Resource {
        agent_version: "0.1.0".to_owned(),
        architecture: Architecture::Arm64,
        install_method: InstallMethod::Git,
        os_family: OsFamily::Linux,
    };
    let counts = counts.into_iter().collect();
    let batch = CounterBatch { at, resource, counts, active: true, lost: 0 };
    store.add(&[batch]).unwrap();
}

/// Two packages of days that are over, and two drafts: more of one of these days, and today.
fn fill(agent: &TestHome) {
    let mut store = open_store(agent);
    let now = SystemClock.now();
    let old = vec![tool_calls("file", "success", "lt_100ms", 1_000)];
    add(&mut store, now.minus_days(20), old);
    let recent = vec![
        tool_calls("file", "failed", "gte_30s", 30),
        tool_calls("terminal", "failed", "1s_to_2s", 4),
        (
            counter(
                "agent.task_run.started",
                &json!({ "entrypoint": "api", "execution_surface": "api" }),
            ),
            5,
        ),
        (
            counter(
                "agent.tool_approval.count",
                &json!({ "attribution": "tool_call", "outcome": "denied" }),
            ),
            3,
        ),
        (
            counter(
                "agent.skill.lifecycle.count",
                &json!({ "action": "patched", "provenance": "local" }),
            ),
            2,
        ),
    ];
    add(&mut store, now.minus_days(3), recent);
    store.package(PackageScope::Except(now.day()), now).unwrap();
    store.write_outbox(now).unwrap();
    add(&mut store, now.minus_days(3), vec![tool_calls("terminal", "failed", "1s_to_2s", 200)]);
    let today = vec![
        tool_calls("web", "success", "lt_100ms", 1),
        (
            counter(
                "agent.model_route.count",
                &json!({ "model": long_model(), "provider": "ollama" }),
            ),
            9,
        ),
        (
            counter(
                "agent.model_call.count",
                &json!({
                    "call_role": "primary", "locality": "local", "model_family": "qwen",
                    "outcome": "success", "provider_family": "local",
                }),
            ),
            8,
        ),
        (
            counter(
                "agent.task_run.finished",
                &json!({
                    "duration_bucket": "lt_1s", "end_reason": "completed", "entrypoint": "api",
                    "execution_surface": "api", "model_call_count_bucket": "1", "outcome": "success",
                    "retry_count_bucket": "0", "termination": "none", "tool_call_count_bucket": "3_to_5",
                }),
            ),
            7,
        ),
        (
            counter(
                "agent.skill.load.count",
                &json!({
                    "post_patch_state": "no_new_patch", "provenance": "local", "reuse_state": "reused",
                    "use_count_bucket": "gte_11",
                }),
            ),
            6,
        ),
    ];
    add(&mut store, now, today);
}

/// The page, served by the real program.
struct Served {
    program: Child,
    address: String,
}

impl Served {
    fn start(agent: &TestHome) -> Served {
        let (mut served, line) = Served::of(launch(agent, &["--json"]));
        let said: Value = serde_json::from_str(&line).unwrap();
        said["address"].as_str().unwrap().clone_into(&mut served.address);
        served
    }

    /// The page of a program that prints its bare address, and what it prints.
    fn of(mut program: Child) -> (Served, String) {
        let mut line = String::new();
        let mut stdout = BufReader::new(program.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let address = line.trim_end().to_owned();
        (Served { program, address }, line)
    }

    fn port(&self) -> u16 {
        let authority = self.address.split('/').nth(2).unwrap();
        authority.strip_prefix("127.0.0.1:").unwrap().parse().unwrap()
    }

    /// The path of a file of the page.
    fn path(&self, file: &str) -> String {
        format!("/{}/{file}", self.address.split('/').nth(3).unwrap())
    }

    /// Asks for a file of the page as a browser would.
    fn get(&self, file: &str) -> Answer {
        let host = format!("127.0.0.1:{}", self.port());
        self.ask("GET", &self.path(file), &host)
    }

    fn ask(&self, method: &str, path: &str, host: &str) -> Answer {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port())).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_lowercase(),
            body: answer.split_off(end + 4),
        }
    }

    /// Sends a signal and waits for the end; says how the program ended and how long it took.
    fn end(mut self, signal: &str) -> (Option<i32>, Duration) {
        let id = self.program.id().to_string();
        let sent = Instant::now();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let mut status = None;
        eventually("the signal ends it", || {
            status = self.program.try_wait().unwrap();
            status.is_some()
        });
        (status.and_then(|status| status.code()), sent.elapsed())
    }
}

fn launch(agent: &TestHome, options: &[&str]) -> Child {
    let mut command = agent.command(["metrics", "view", "--no-open"].iter().chain(options));
    let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

/// The page as it opens on a desk.
fn overview(agent: &TestHome) -> (Served, Browser) {
    let served = Served::start(agent);
    let browser = Browser::start(1280, 900, ColorScheme::Light);
    browser.goto(&served.address);
    heading(&browser, "Overview");
    (served, browser)
}

fn heading(browser: &Browser, text: &str) {
    let is_there =
        format!("return document.querySelector('#view-title')?.textContent === '{text}'");
    browser.eventually(text, &is_there);
}

fn total(browser: &Browser, figure: &str) {
    let is_there = format!("return document.querySelector('#total')?.textContent === '{figure}'");
    browser.eventually(figure, &is_there);
}
