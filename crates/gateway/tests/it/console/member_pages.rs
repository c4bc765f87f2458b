//! The pages of members.

use std::time::Duration;

use agent_test_support::browser::{ColorScheme, key};
use agent_test_support::postgres::Cluster;
use agent_test_support::upstream::{Responder, Step, Upstream};
use serde_json::json;

use super::{Client, browse, setup};
use crate::fixture::{self, in_postgres};
use crate::media;
use crate::research_fixture::{Setup, ended, question, scholar, started};
use crate::support::{PRICE, Running};

#[test]
fn a_key_is_created_shown_once_and_works() {
    let (_upstream, service, holder) = setup();
    let browser = browse(&service, holder.key.as_str(), 1200, ColorScheme::Light);
    browser.goto(&format!("{}/keys", service.origin()));
    browser.click("a[href='/keys/new']");
    browser.click("#name");
    browser.press("laptop");
    browser.click("#spend");
    browser.press("0.5x");
    browser.click("main form button");
    assert!(browser.text("#notice").contains("is not an amount"));
    assert_eq!(browser.eval("return document.querySelector('#name').value"), "laptop");
    assert_eq!(browser.eval("return document.querySelector('#spend').ariaInvalid"), "true");
    browser.eval("document.querySelector('#spend').value = '0.5'");
    browser.click("main form button");
    let secret = browser.text("#secret");
    let chat = json!({"model": "up/echo", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(service.post("/v1/chat/completions", &secret, &chat).status, 200);
    browser.reload();
    browser.goto(&format!("{}/keys", service.origin()));
    assert!(!browser.eval("return document.body.innerHTML").to_string().contains(&secret));
    assert!(browser.text("table").contains("laptop"));
    let stored = browser
        .eval("return JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])");
    assert_eq!(stored, "[\"\",{},{}]", "scripts see neither key nor session");
}

#[test]
fn keys_are_limited_rotated_and_revoked() {
    let (_upstream, service, holder) = setup();
    let mut client = Client::signed_in(&service, holder.key.as_str());
    let created =
        client.submit("/keys/new", "/keys", &[("name", "ci"), ("scope", "chat"), ("days", "2")]);
    let secret = secret(created.text());
    let id = wire::key::ApiKey::parse(&secret).unwrap().public_id().to_owned();
    let page = format!("/keys/{id}");
    for (field, value) in [("rate", "x"), ("rate", "0"), ("spend", "-1"), ("name", " ")] {
        let mut fields = vec![("name", "ci"), ("rate", ""), ("spend", ""), ("concurrency", "")];
        fields.retain(|(name, _)| *name != field);
        fields.push((field, value));
        let answer = client.submit(&page, &page, &fields);
        assert_eq!(answer.status, 400, "{field}={value}");
        assert!(answer.text().contains("aria-invalid"), "{field}={value}");
    }
    let changed = client.submit(&page, &page, &[("name", "ci 2"), ("rate", "5"), ("spend", "2.5")]);
    assert_eq!(changed.status, 303, "{}", changed.text());
    let shown = client.get(&page);
    assert!(shown.text().contains("ci 2") && shown.text().contains("value=\"2.5\""));
    let rotated = client.submit(&page, &format!("{page}/rotate"), &[("overlap", "0")]);
    assert_ne!(self::secret(rotated.text()), secret);
    assert_eq!(service.get("/v1/models", &secret).status, 401, "the old key stopped");
    let old = client.submit("/keys/new", &format!("{page}/rotate"), &[("overlap", "0")]);
    assert_eq!(old.status, 409, "an expired key cannot be rotated");
    // The key of the session itself: the session continues with the new one.
    let own = format!("/keys/{}", holder.key.public_id());
    let rotated = client.submit(&own, &format!("{own}/rotate"), &[("overlap", "0")]);
    assert_eq!(rotated.status, 200);
    assert_eq!(client.get("/keys").status, 200);
}

fn secret(page: &str) -> String {
    let text = page.split("id=\"secret\">").nth(1).unwrap_or_else(|| panic!("no secret: {page}"));
    text.split('<').next().unwrap().to_owned()
}

#[test]
fn the_playground_streams_and_charges_like_the_api() {
    let (_upstream, service, holder) = setup();
    let browser = browse(&service, holder.key.as_str(), 1200, ColorScheme::Light);
    browser.goto(&format!("{}/playground?model=up/echo", service.origin()));
    browser.click("#prompt");
    browser.press("<img src=x onerror=alert(1)> hello");
    browser.click("#send");
    browser.eventually(
        "an answer",
        "return document.querySelector('.said .assistant')?.textContent.includes('hello') ?? false",
    );
    browser.eventually("it has ended", "return document.querySelector('#stop').hidden");
    assert_eq!(browser.eval("return document.querySelectorAll('.said img').length"), 0);
    assert!(browser.text("#code-curl").contains("/v1/chat/completions"));
    browser.click("#compare");
    browser.click("#prompt");
    browser.press("again");
    browser.click("#send");
    browser.eventually("two answers", "return document.querySelectorAll('.said .assistant').length === 3 && document.querySelector('#stop').hidden");
    assert_eq!(service.account(holder.member).balance.get(), 997 * PRICE);
    browser.goto(&format!("{}/receipts", service.origin()));
    assert!(browser.text("table").contains("up/echo"));
    browser.click("tbody a");
    assert!(browser.text("main").contains("answered"));
    service.check_ledger();
}

#[test]
fn receipts_are_searched_and_paged() {
    let (_upstream, service, holder) = setup();
    let chat = json!({"model": "up/echo", "messages": [{"role": "user", "content": "hi"}]});
    let mut last = String::new();
    for _ in 0..30 {
        let answer = service.post("/v1/chat/completions", holder.key.as_str(), &chat);
        answer.header("x-request-id").clone_into(&mut last);
    }
    let mut client = Client::signed_in(&service, holder.key.as_str());
    let first = client.get("/receipts");
    assert_eq!(first.text().matches("<a href=\"/receipts/").count(), 25);
    let before =
        first.text().split("before=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let second = client.get(&format!("/receipts?before={before}"));
    assert_eq!(second.text().matches("<a href=\"/receipts/").count(), 5);
    assert!(second.text().contains("for a test"), "the top-up is the oldest");
    let found = client.get("/receipts?q=FOR+A+test");
    assert_eq!(found.text().matches("<tr>").count(), 2, "{}", found.text());
    assert!(client.get("/receipts?kind=adjustment").text().contains("No receipt matches"));
    let id = client.get(&format!("/receipts?q={last}"));
    assert_eq!(id.header("location"), format!("/receipts/{last}"));
    let receipt = client.get(&format!("/receipts/{last}"));
    assert!(receipt.text().contains("The answer was complete."));
    assert_eq!(client.get("/receipts?before=x&q=%00").status, 200);
    assert_eq!(client.get("/receipts/nothing").status, 404);
}

#[test]
fn pages_work_with_the_keyboard() {
    let (_upstream, service, holder) = setup();
    let browser = browse(&service, holder.key.as_str(), 1200, ColorScheme::Light);
    browser.goto(&format!("{}/keys/{}", service.origin(), holder.key.public_id()));
    browser.press(key::TAB);
    assert_eq!(browser.eval("return document.activeElement.textContent"), "Skip to the content");
    browser.press(key::ENTER);
    browser.press(&key::TAB.repeat(3));
    assert_eq!(browser.eval("return document.activeElement.textContent"), "Revoke");
    browser.press(key::ENTER);
    browser.eventually("a dialog", "return document.querySelector('#revoke').open");
    assert_eq!(browser.eval("return document.activeElement.textContent"), "Cancel");
    browser.press(key::ENTER);
    browser.eventually("it closes", "return !document.querySelector('#revoke').open");
    assert_eq!(
        browser.eval("return document.activeElement.textContent"),
        "Revoke",
        "focus returns"
    );
}

#[test]
fn client_settings_contain_the_service_url() {
    let (_upstream, service, holder) = setup();
    let mut client = Client::signed_in(&service, holder.key.as_str());
    let page = client.get("/connect");
    for name in ["Claude Code", "Codex", "Cursor", "Open WebUI", "LangChain", "MCP clients"] {
        assert!(page.text().contains(name), "{name}");
    }
    assert!(page.text().contains(&format!("{}/mcp", service.origin())));
    assert!(page.text().contains("up/drip-3-1") || page.text().contains("up/echo"));
}

#[test]
fn usage_page_has_ranges_chart_table_and_csv() {
    let (_upstream, service, holder) = setup();
    let chat =
        |model: &str| json!({"model": model, "messages": [{"role": "user", "content": "hi"}]});
    for model in ["up/echo", "up/echo", "up/drip-3-1"] {
        service.post("/v1/chat/completions", holder.key.as_str(), &chat(model));
    }
    let mut client = Client::signed_in(&service, holder.key.as_str());
    for by in ["model", "key", "operation", "day"] {
        for show in ["credits", "requests", "tokens"] {
            let page = client.get(&format!("/usage?by={by}&show={show}&days=7"));
            assert_eq!(page.status, 200, "{by} {show}");
            assert_eq!(page.text().matches("<g class=\"bar\">").count(), 7, "{by} {show}");
        }
    }
    let page = client.get("/usage");
    assert_eq!(page.text().matches("<g class=\"bar\">").count(), 30);
    assert!(page.text().contains("66.6 %"), "{}", page.text());
    assert!(client.get("/").text().contains("Credits spent by day"));
    let csv = client.get("/usage.csv?by=model");
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let lines: Vec<&str> = csv.text().lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("\"up/echo\",2,") && line.ends_with(",2000")));
    for bad in ["from=x&to=y", "from=2026-13-01&to=2026-01-01", "by=nothing&days=9999"] {
        assert!([200, 400].contains(&client.get(&format!("/usage?{bad}")).status), "{bad}");
    }
    let empty = client.get("/usage?from=2020-01-01&to=2020-01-31");
    assert!(empty.text().contains("Nothing in this range"));
    let other = service.holder("eve", PRICE);
    let foreign = Client::signed_in(&service, other.key.as_str()).get("/usage");
    assert!(!foreign.text().contains("up/echo"), "members see their own alone");
}

#[test]
fn research_is_started_followed_and_shown() {
    let setup = Setup::new("");
    let (service, holder) = setup.ready("");
    let browser = browse(&service, holder.key.as_str(), 1200, ColorScheme::Light);
    browser.goto(&format!("{}/research", service.origin()));
    browser.click("#query");
    browser.press("Why is the sky blue?");
    browser.eval("document.querySelector('#depth').value = 'quick'");
    browser.click("main form button");
    browser.eventually(
        "the report appears without a reload",
        "return document.querySelector('.report') !== null",
    );
    assert!(browser.text("#live").contains("completed"));
    assert!(browser.text("#live").contains("https://docs.example/sky.md"));
    assert_eq!(browser.accessibility_findings(), Vec::<String>::new());
    browser.goto(&format!("{}/research", service.origin()));
    assert!(browser.text("tbody").contains("Why is the sky blue?"));
    let mut client = Client::signed_in(&service, holder.key.as_str());
    let refused = client.submit("/research", "/research", &[("query", ""), ("depth", "quick")]);
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("role=\"alert\""));
    assert_eq!(client.get("/research/research_none").status, 404);
}

#[test]
fn hostile_reports_and_media_run_no_scripts() {
    let setup = Setup::new("");
    setup.file(
        "evil.md",
        "# <script>alert(1)</script> sky\n\nblue sky <img src=x onerror=alert(1)>\n",
    );
    setup.upstream.set_default(Step::Speak(Responder(hostile), Duration::ZERO));
    let (service, holder) = setup.ready("");
    let id = started(&service, &holder, &question());
    ended(&service, &holder, &id);
    let page = Client::signed_in(&service, holder.key.as_str()).get(&format!("/research/{id}"));
    assert_eq!(page.status, 200);
    for bad in ["<script>alert", "<img src=x", "javascript:"] {
        assert!(!page.text().contains(bad), "{bad}: {}", page.text());
    }
}

/// Says what a scholar says, with an attack.
fn hostile(prompt: &str) -> String {
    let said = scholar(prompt);
    if said.trim_start().starts_with(['{', '[']) {
        return said;
    }
    format!(
        "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)> {said}"
    )
}

#[test]
fn media_are_visible_only_to_their_member() {
    let upstream = Upstream::start();
    let (service, holder) = media::service(&upstream);
    let made = media::run(&service, &holder, &media::paint("<img src=x onerror=alert(1)>")).good();
    let id = made["artifacts"][0]["id"].as_str().unwrap();
    let mut client = Client::signed_in(&service, holder.key.as_str());
    let page = client.get("/media");
    assert!(page.text().contains(&format!("src=\"/media/{id}\"")));
    assert!(!page.text().contains("<img src=x"), "{}", page.text());
    let file = client.get(&format!("/media/{id}"));
    assert_eq!((file.status, file.header("content-type")), (200, "image/png"));
    assert!(file.header("content-security-policy").starts_with("sandbox"));
    let other = service.holder("eve", PRICE);
    let mut stranger = Client::signed_in(&service, other.key.as_str());
    assert_eq!(stranger.get(&format!("/media/{id}")).status, 404);
    assert!(stranger.get("/media").text().contains("Nothing made yet"));
}

#[test]
fn the_console_works_on_postgresql() {
    let (upstream, database) = (Upstream::start(), Cluster::shared().database());
    let service = Running::start(&in_postgres(&upstream, &database, ""));
    let holder = service.holder("ada", 10 * PRICE);
    service.post("/v1/chat/completions", holder.key.as_str(), &fixture::chat("hi"));
    let mut client = Client::signed_in(&service, holder.key.as_str());
    for path in ["/", "/usage", "/receipts", "/keys", "/media", "/research", "/sessions"] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
    assert!(client.get("/receipts").text().contains("up/echo"));
    assert_eq!(
        client.submit("/keys/new", "/keys", &[("name", "n"), ("scope", "chat")]).status,
        200
    );
    assert_eq!(client.submit("/", "/sign-out", &[]).status, 303);
    assert_eq!(client.get("/keys").status, 303);
}
