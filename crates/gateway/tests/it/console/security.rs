//! What other sites, other members and strangers try.

use agent_test_support::browser::ColorScheme;
use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;
use http::{Method, Request};
use serde_json::json;

use super::{Client, browse, setup};
use crate::fixture::{self, with_one};
use crate::support::{ADMIN_TOKEN, PRICE, Running};
use crate::teams::{change, team};

#[test]
fn root_returns_json_to_programs_and_sign_in_to_browsers() {
    let (_upstream, service, _) = setup();
    let answer = service.send(Method::GET, "/", None, None);
    assert_eq!(answer.failure(), (404, "not_found".to_owned()));
    let page = Client::new(&service).get("/");
    assert_eq!(page.status, 200);
    assert!(page.text().contains("<h1>Sign in</h1>"));
    let cookie = page.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
}

#[test]
fn every_page_forbids_frames_foreign_scripts_and_caching() {
    let (_upstream, service, holder) = setup();
    let mut member = Client::signed_in(&service, holder.key.as_str());
    let mut operator = Client::signed_in(&service, ADMIN_TOKEN);
    for (answer, path) in [
        (member.get("/"), "/"),
        (member.get("/keys"), "/keys"),
        (member.get("/keys/none"), "/keys/none"),
        (operator.get("/operator"), "/operator"),
        (member.get("/docs"), "/docs"),
        (member.get("/assets/0/pages.css"), "/assets/0/pages.css"),
    ] {
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        let caching = if path.starts_with("/assets") { "no-cache" } else { "no-store" };
        assert_eq!(answer.header("cache-control"), caching, "{path}");
    }
}

#[test]
fn invalid_keys_do_not_sign_in() {
    let (_upstream, service, holder) = setup();
    let mut other = holder.key.as_str().to_owned();
    other.pop();
    for secret in ["", "agk_nothing", &other, "an-admin-token-of-at-least-32-character"] {
        let mut client = Client::new(&service);
        let answer = client.sign_in(secret);
        assert_eq!(answer.status, 401, "{secret}");
        assert!(answer.text().contains("This key is not valid"));
        assert_eq!(client.cookie("agent-session"), None);
        assert_eq!(client.get("/keys").header("location"), "/?next=%2Fkeys");
    }
}

#[test]
fn a_planted_session_token_is_never_accepted() {
    let (_upstream, service, holder) = setup();
    let planted = "A".repeat(43);
    let mut victim = Client::new(&service);
    victim.set_cookie("agent-session", &planted);
    assert_eq!(victim.sign_in(holder.key.as_str()).status, 303);
    let first = victim.cookie("agent-session").unwrap().to_owned();
    assert_ne!(first, planted);
    let mut attacker = Client::new(&service);
    attacker.set_cookie("agent-session", &planted);
    assert_eq!(attacker.get("/keys").status, 303);
    // Signing in again draws another token.
    let mut again = Client::new(&service);
    again.set_cookie("agent-session", &first);
    let csrf = Client::new(&service).csrf("/");
    assert_eq!(again.post("/sign-in", &[("csrf", &csrf), ("key", "x")]).status, 403);
}

#[test]
fn forms_need_csrf_token_and_same_origin() {
    let (_upstream, service, holder) = setup();
    let mut client = Client::signed_in(&service, holder.key.as_str());
    let csrf = client.csrf("/keys/new");
    let origin = service.origin();
    let stranger = Client::signed_in(&service, holder.key.as_str()).csrf("/keys/new");
    for (origin, csrf) in [
        (origin.as_str(), ""),
        (&origin, "00"),
        (&origin, &stranger),
        ("https://evil.example", &csrf),
        ("http://127.0.0.1:1", &csrf),
        ("null", &csrf),
        ("", &csrf),
    ] {
        let fields = [("csrf", csrf), ("name", "stolen"), ("scope", "chat")];
        let answer = client.post_from(origin, "/keys", &fields);
        assert_eq!(answer.status, 403, "{origin} {csrf}");
    }
    let fetched = Request::builder()
        .method(Method::POST)
        .uri("/sign-out")
        .header("origin", &origin)
        .header("sec-fetch-site", "cross-site");
    assert_eq!(client.send(fetched, format!("csrf={csrf}").into_bytes()).status, 403);
    assert!(!client.get("/keys").text().contains("stolen"));
    let chat =
        Request::builder().method(Method::POST).uri("/playground/chat").header("origin", &origin);
    let body = json!({"model": "up/echo", "messages": [{"role": "user", "content": "hi"}]});
    let answer = client.send(chat, body.to_string().into_bytes());
    assert_eq!(answer.failure(), (403, "origin_refused".to_owned()));
    assert_eq!(service.account(holder.member).balance.get(), 1000 * PRICE);
}

#[test]
fn a_rebound_host_name_is_rejected() {
    let (_upstream, service, holder) = setup();
    let mut client = Client::signed_in(&service, holder.key.as_str());
    for path in ["/", "/keys", "/operator", "/sessions"] {
        let request = Request::builder().uri(path).header("host", "evil.example:80");
        assert_eq!(client.send(request, Vec::new()).status, 403, "{path}");
    }
}

#[test]
fn members_and_operators_have_separate_pages() {
    let (_upstream, service, holder) = setup();
    let mut member = Client::signed_in(&service, holder.key.as_str());
    for path in [
        "", "/members", "/members/mem_1", "/teams", "/teams/mem_1", "/keys", "/keys/none",
        "/usage", "/usage.csv", "/ledger", "/audit", "/alerts", "/providers", "/prices",
        "/configuration",
    ] {
        assert_eq!(member.get(&format!("/operator{path}")).status, 403, "{path}");
    }
    let csrf = member.csrf("/keys/new");
    let fields = [("csrf", csrf.as_str()), ("amount", "5"), ("reason", "x"), ("confirmed", "yes")];
    for path in ["members/mem_1/post", "teams", "keys/none", "keys/none/rotate", "keys/none/revoke"]
    {
        assert_eq!(member.post(&format!("/operator/{path}"), &fields).status, 403, "{path}");
    }
    let mut operator = Client::signed_in(&service, ADMIN_TOKEN);
    assert_eq!(operator.get("/").header("location"), "/operator");
    for path in ["/keys", "/playground", "/receipts"] {
        assert_eq!(operator.get(path).status, 403, "{path}");
    }
    // The session of an operator is no admin token of the API, and that of a member no key.
    assert_eq!(operator.get("/admin/v1/members").status, 401);
    assert_eq!(member.get("/v1/me").status, 401);
}

#[test]
fn members_access_only_their_own_data() {
    let (_upstream, service, holder) = setup();
    let other = service.holder("eve", PRICE);
    let mut client = Client::signed_in(&service, other.key.as_str());
    let foreign = holder.key.public_id();
    assert_eq!(client.get(&format!("/keys/{foreign}")).status, 404);
    let path = format!("/keys/{foreign}/revoke");
    assert_eq!(client.submit("/keys/new", &path, &[]).status, 404);
    let chat = json!({"model": "up/echo", "messages": [{"role": "user", "content": "hi"}]});
    let charged = service.post("/v1/chat/completions", holder.key.as_str(), &chat);
    let id = charged.header("x-request-id");
    assert_eq!(client.get(&format!("/receipts/{id}")).status, 404);
    assert_eq!(
        Client::signed_in(&service, holder.key.as_str()).get(&format!("/receipts/{id}")).status,
        200
    );
}

#[test]
fn names_are_escaped_everywhere() {
    // A provider is hostile, too: its models and its errors.
    let name = "<img src=x onerror=alert(1)>\"'";
    let upstream = Upstream::start();
    upstream.set_models(&["echo", name]);
    let discovering = "kind: openai, discover: true, health: {interval: 600}";
    let service =
        Running::start(&with_one(&upstream, discovering, &format!("admin_token: {ADMIN_TOKEN}\n")));
    let holder = service.holder(name, 1000 * PRICE);
    service.key_with(holder.member, |new| new.name = name.to_owned());
    let crew = team(&service, &format!("{name} crew"), PRICE);
    change(&service, &service.holder("eve", 0), &json!({ "team": crew })).good();
    let body = json!({ "error": { "message": name } }).to_string().into_bytes();
    let refusal = Step::Raw { status: 400, media_type: "application/json".to_owned(), body };
    upstream.script("echo", vec![refusal; 2]);
    let chat = fixture::chat("hi");
    let refused = service.post("/v1/chat/completions", holder.key.as_str(), &chat);
    assert!(refused.text().contains("<img src=x"), "{}", refused.text());
    let receipt = format!("/receipts/{}", refused.header("x-receipt-id"));
    eventually("the models are listed", || {
        service.get("/v1/models", holder.key.as_str()).text().contains("<img src=x")
    });
    let mut member = Client::signed_in(&service, holder.key.as_str());
    let mut operator = Client::signed_in(&service, ADMIN_TOKEN);
    let own = format!("/operator/members/{}", holder.member);
    for answer in [
        member.get("/"),
        member.get("/keys"),
        member.get("/receipts?q=%3Cimg%20src%3Dx%3E"),
        member.get("/models?q=%22%3E%3Cimg%20src%3Dx%3E"),
        operator.get("/operator"),
        operator.get("/operator/members"),
        operator.get("/operator/members?q=%3Cimg%20src%3Dx%3E"),
        operator.get("/operator/audit"),
        operator.get(&own),
        member.get(&receipt),
        member.get("/models"),
        member.get("/playground"),
        operator.get("/operator/teams"),
        operator.get(&format!("/operator/teams/{crew}")),
        operator.get("/operator/usage?by=team"),
        operator.get("/operator/keys"),
        operator.get("/operator/keys?q=%3Cimg%20src%3Dx%3E"),
        operator.get(&format!("/operator/keys/{}", holder.key.public_id())),
        operator.get("/operator/providers"),
        operator.get("/operator/prices"),
        operator.submit("/operator/providers", "/operator/providers/up/test", &[]),
    ] {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(!answer.text().contains("<img src=x"), "{}", answer.text());
    }
    let browser = browse(&service, holder.key.as_str(), 1200, ColorScheme::Light);
    browser.goto(&format!("{}/playground?model=up/echo", service.origin()));
    browser.click("#prompt");
    browser.press("hello");
    browser.click("#send");
    browser.eventually(
        "the error of the provider",
        "return document.querySelector('.said .failed')?.textContent.includes('<img src=x') ?? false",
    );
    assert_eq!(browser.eval("return document.querySelectorAll('.said img').length"), 0);
}

#[test]
fn sessions_are_listed_ended_and_revoked_with_their_key() {
    let (_upstream, service, holder) = setup();
    let mut first = Client::signed_in(&service, holder.key.as_str());
    let mut second = Client::signed_in(&service, holder.key.as_str());
    let page = first.get("/sessions");
    assert!(page.text().contains("this browser"));
    let id = page.text().split("/sessions/").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let ended = first.submit("/sessions", &format!("/sessions/{id}/end"), &[]);
    assert_eq!(ended.header("location"), "/sessions?done=session-ended");
    assert_eq!(second.get("/keys").status, 303, "its session has ended");
    assert_eq!(first.submit("/", "/sign-out", &[]).header("location"), "/?done=signed-out");
    assert_eq!(first.cookie("agent-session"), None);

    let mut third = Client::signed_in(&service, holder.key.as_str());
    let revoke = format!("/keys/{}/revoke", holder.key.public_id());
    let page = format!("/keys/{}", holder.key.public_id());
    assert_eq!(third.submit(&page, &revoke, &[]).status, 303);
    assert_eq!(third.get("/keys").header("location"), "/?next=%2Fkeys");
}

#[test]
fn sign_in_redirects_only_within_the_site() {
    let (_upstream, service, holder) = setup();
    for (next, leads) in [
        ("/keys", "/keys"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
    ] {
        let mut client = Client::new(&service);
        let fields = [("key", holder.key.as_str()), ("next", next)];
        let answer = client.submit("/", "/sign-in", &fields);
        assert_eq!(answer.header("location"), leads, "{next}");
    }
}

#[test]
fn restricted_keys_cannot_extend_their_rights() {
    let (_upstream, service, holder) = setup();
    let narrow = service.key_with(holder.member, |new| {
        new.name = "narrow".to_owned();
        new.limits.spend = Some(ledger::Micros::new(5 * PRICE));
    });
    let mut client = Client::signed_in(&service, narrow.as_str());
    let full = holder.key.public_id();
    for action in ["rotate", "revoke"] {
        let answer = client.submit("/keys", &format!("/keys/{full}/{action}"), &[]);
        assert_eq!(answer.status, 403, "{action}");
    }
    assert_eq!(client.submit("/keys", "/keys", &[("name", "more"), ("scope", "chat")]).status, 403);
    let own = format!("/keys/{}", narrow.public_id());
    for spend in ["", "1000"] {
        let answer = client.submit("/keys", &own, &[("name", "narrow"), ("spend", spend)]);
        assert_eq!(answer.status, 400, "{spend}");
    }
    let lower = client.submit("/keys", &own, &[("name", "narrow"), ("spend", "0.001")]);
    assert_eq!(lower.status, 303, "a lower limit is fine");
}
