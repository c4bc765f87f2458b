//! The console after two weeks of use. `cargo xtask docs images` keeps what this draws as the
//! pictures of the documentation.

use std::env;
use std::fs;
use std::path::PathBuf;

use agent_test_support::browser::{Browser, ColorScheme};
use agent_test_support::clock::MovableClock;

use super::{Fixture, Served, chat_body};

const ADMIN_TOKEN: &str = "a-token-of-the-operator-in-these-pictures";
/// Names the folder of the pictures; without it they are drawn and dropped.
const FOLDER: &str = "AGENT_DOCS_IMAGES";
const DAYS: i64 = 14;
const DAY_SECONDS: i64 = 86_400;
const MODELS: [&str; 3] = ["openai/gpt-5", "openai/gpt-5-mini", "anthropic/claude-sonnet"];

#[test]
fn usage_charts_have_a_bar_per_day() {
    let fixture = Fixture::bare();
    configure(&fixture);
    let clock = MovableClock::new();
    clock.set(-DAYS * DAY_SECONDS);
    let run = |arguments: &[&str]| {
        let mut command = fixture.agent.command(["gateway"].iter().chain(arguments));
        let output = command.envs(clock.variables()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run(&["migrate"]);
    run(&["member", "create", "alice", "--credit", "25"]);
    run(&["member", "create", "bob", "--credit", "10"]);
    let laptop = run(&["key", "create", "alice", "--name", "laptop", "--quiet"]);
    let other = run(&["key", "create", "bob", "--name", "ci", "--quiet"]);
    let served = Served::start(fixture.command(["serve"]).envs(clock.variables()));
    for day in 0..=DAYS {
        clock.set((day - DAYS) * DAY_SECONDS);
        for (at, model) in MODELS.iter().enumerate() {
            // Uneven, as use is.
            let count = (day * 5 + i64::try_from(at).unwrap() * 3) % 7 + 1;
            for number in 0..count {
                let key = if number % 3 == 2 { &other } else { &laptop };
                let (status, body) =
                    served.ask("POST", "/v1/chat/completions", key, &chat_body(model, false));
                assert_eq!(status, 200, "{body}");
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = env::var_os(FOLDER).map_or(folder.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder).unwrap();
    let draw = |browser: &Browser, path: &str, name: &str| {
        browser.goto(&format!("http://{}{path}", served.address));
        browser.screenshot(&folder.join(format!("{name}.png")));
        bars(browser)
    };
    let member = signed_in(&served, &laptop, (1100, 760), ColorScheme::Light);
    assert!(draw(&member, "/", "console") >= DAYS);
    assert!(draw(&member, "/usage", "console-usage") >= DAYS);
    member.goto(&format!("http://{}/playground?model={}", served.address, MODELS[0]));
    member.click("#prompt");
    member.press("Say hello to everyone who reads the documentation.");
    member.click("#send");
    member.eventually("an answer", "return !!document.querySelector('.said .assistant')?.textContent && document.querySelector('#stop').hidden");
    member.screenshot(&folder.join("console-playground.png"));
    let phone = signed_in(&served, &laptop, (360, 740), ColorScheme::Dark);
    draw(&phone, "/", "console-phone");
    let operator = signed_in(&served, ADMIN_TOKEN, (1100, 760), ColorScheme::Dark);
    draw(&operator, "/operator", "console-operator");
    operator.goto(&format!("http://{}/operator/usage", served.address));
    assert!(bars(&operator) >= DAYS);
}

/// The days of the charts on a page that have a bar.
fn bars(browser: &Browser) -> i64 {
    let count = "return document.querySelectorAll('g.bar:has(rect:not(.reach))').length";
    browser.eval(count).as_i64().unwrap()
}

fn configure(fixture: &Fixture) {
    let provider = |kind: &str, models: &str| {
        let address = fixture.upstream.base_url();
        format!(
            "    kind: {kind}\n    base_url: {address}\n    api_key: ${{UPSTREAM_KEY}}\n    models: {models}\n"
        )
    };
    let text = format!(
        "listen: 127.0.0.1:0\nadmin_token: {ADMIN_TOKEN}\nproviders:\n  openai:\n{}  anthropic:\n{}\
         prices:\n  models:\n    openai/gpt-5: 40000\n    openai/gpt-5-mini: 8000\n    anthropic/claude-sonnet: 30000\n",
        provider("openai", "[gpt-5, gpt-5-mini]"),
        provider("anthropic", "[claude-sonnet]"),
    );
    fs::write(fixture.agent.home().join("gateway/gateway.yaml"), text).unwrap();
}

fn signed_in(
    served: &Served,
    secret: &str,
    (width, height): (u32, u32),
    scheme: ColorScheme,
) -> Browser {
    let browser = Browser::start(width, height, scheme);
    browser.goto(&format!("http://{}/", served.address));
    browser.click("#key");
    browser.press(secret);
    browser.click("form button");
    browser.eventually("a page", "return !!document.querySelector('nav')");
    browser
}
