//! Teams on the pages: of operators, of managers, of members, and what others try there.

use agent_test_support::browser::ColorScheme;
use agent_test_support::upstream::Upstream;
use serde_json::json;

use super::{Client, browse};
use crate::budgets::noon;
use crate::fixture::chat;
use crate::support::{ADMIN_TOKEN, Holder, PRICE, Running, plain};
use crate::teams::{change, team};

const CHAT: &str = "/v1/chat/completions";

/// A service with the team `crew` of the manager ada and the member bob.
pub(crate) fn setup() -> (Upstream, Running, [Holder; 2], String) {
    let upstream = Upstream::start();
    let service = Running::start(&plain(&upstream, &["echo"], &noon()));
    let holders = [service.holder("ada", 5 * PRICE), service.holder("bob", 0)];
    let crew = team(&service, "crew", 100 * PRICE);
    for holder in &holders {
        change(&service, holder, &json!({ "team": crew })).good();
    }
    change(&service, &holders[0], &json!({ "role": "manager" })).good();
    (upstream, service, holders, crew)
}

#[test]
fn operators_create_and_fund_a_team_and_add_members() {
    let upstream = Upstream::start();
    let service = Running::start(&plain(&upstream, &["echo"], &noon()));
    let ada = service.holder("ada", 0);
    let browser = browse(&service, ADMIN_TOKEN, 1200, ColorScheme::Light);
    browser.goto(&format!("{}/operator/teams", service.origin()));
    browser.click("[data-dialog=create]");
    browser.click("#name");
    browser.press("crew");
    browser.click("#create .primary");
    browser.eventually("created", "return document.querySelector('#transfer') !== null");
    browser.click("#amount");
    browser.press("0.002");
    browser.click("#reason");
    browser.press("invoice 7");
    browser.click("#transfer button");
    browser.eventually("asked", "return document.body.innerText.includes('Balance after')");
    browser.click("#transfer button");
    browser.eventually("posted", "return document.body.innerText.includes('is posted')");
    browser.click("#member");
    browser.press("ada");
    browser.click("#join button");
    browser.eventually("joined", "return document.body.innerText.includes('The team is changed')");
    assert!(browser.text("main").contains("Take out"), "{}", browser.text("main"));
    assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 200);
    browser.reload();
    assert!(browser.text("main").contains("ada: up/echo"), "{}", browser.text("main"));
    let mut operator = Client::signed_in(&service, ADMIN_TOKEN);
    let usage = operator.get("/operator/usage?by=team");
    assert!(usage.text().contains("crew (mem_2)"), "{}", usage.text());
    // The member sees who pays.
    let mut member = Client::signed_in(&service, ada.key.as_str());
    let page = member.get("/");
    assert!(page.text().contains("Available to your team, crew"), "{}", page.text());
    assert!(page.text().contains("0.001 <small>credits"), "{}", page.text());
    assert!(page.text().contains("/receipts/req_"), "{}", page.text());
    let receipts = member.get("/receipts");
    assert!(receipts.text().contains("up/echo") && receipts.text().contains("Paid by your team"));
    assert!(member.get("/receipts?q=echo").text().contains("/receipts/req_"));
    assert!(!member.get("/receipts?q=other").text().contains("/receipts/req_"));
    assert!(!member.get("/receipts?kind=all").text().contains("/receipts/req_"));
    service.check_ledger();
}

#[test]
fn team_forms_reject_invalid_input() {
    let (_upstream, service, [ada, bob], crew) = setup();
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    for (name, status) in [("", 400), ("crew", 400), ("ada", 400), ("mem_9", 400), ("new", 303)] {
        let answer = client.submit("/operator/teams", "/operator/teams", &[("name", name)]);
        assert_eq!(answer.status, status, "{name}");
    }
    let page = format!("/operator/teams/{crew}");
    let (of_ada, outsider) = (ada.member.to_string(), service.holder("eve", 0));
    let outsider = outsider.member.to_string();
    for (fields, status) in [
        ([("action", "join"), ("member", "nobody")], 400),
        ([("action", "join"), ("member", "")], 400),
        ([("action", "join"), ("member", crew.as_str())], 400),
        ([("action", "leave"), ("member", outsider.as_str())], 400),
        ([("action", "remove"), ("member", "")], 400),
        ([("action", "role"), ("role", "operator")], 404),
        ([("action", "leave"), ("member", of_ada.as_str())], 303),
        ([("action", "join"), ("member", "ada")], 303),
        ([("action", "block"), ("member", "")], 303),
        ([("action", "unblock"), ("member", "")], 303),
    ] {
        assert_eq!(client.submit(&page, &page, &fields).status, status, "{fields:?}");
    }
    let page = format!("/operator/members/{}", bob.member);
    for (fields, status) in [
        ([("action", "team"), ("team", "nothing")], 400),
        ([("action", "team"), ("team", "ada")], 400),
        ([("action", "team"), ("team", "")], 303),
        ([("action", "role"), ("role", "manager")], 400),
        ([("action", "team"), ("team", "crew")], 303),
        ([("action", "role"), ("role", "manager")], 303),
    ] {
        assert_eq!(client.submit(&page, &page, &fields).status, status, "{fields:?}");
    }
    assert!(client.get(&page).text().contains("<option value=\"manager\" selected>"));
    // An empty team is removed, and its page is gone.
    let new = client.get("/operator/teams?q=new").header("location").to_owned();
    let removed = client.submit(&new, &new, &[("action", "remove")]);
    assert_eq!(removed.header("location"), "/operator/teams?done=team-removed");
    assert_eq!(client.get(&new).status, 404);
}

#[test]
fn a_manager_sees_the_team_and_sets_member_budgets() {
    let (_upstream, service, [ada, bob], _) = setup();
    assert_eq!(service.post(CHAT, bob.key.as_str(), &chat("x")).status, 200);
    let browser = browse(&service, ada.key.as_str(), 1200, ColorScheme::Dark);
    browser.click(".wide a[href='/team']");
    browser.eventually("the team", "return document.querySelector('h1')?.innerText === 'crew'");
    let text = browser.text("main");
    assert!(text.contains("0.099") && text.contains("bob") && text.contains("manager"), "{text}");
    browser.click(&format!("a[href='/team/members/{}']", bob.member));
    browser.eventually("the form", "return document.querySelector('#budget') !== null");
    browser.click("#budget");
    browser.press("0.001");
    browser.eval("document.querySelector('#period').value = 'day'; return true");
    browser.click("#budget-form button");
    browser.eventually("saved", "return document.body.innerText.includes('budget is saved')");
    assert!(browser.text("main").contains("0.001 of 0.001 left this day"));
    assert_eq!(service.post(CHAT, bob.key.as_str(), &chat("x")).status, 200);
    let refused = service.post(CHAT, bob.key.as_str(), &chat("x"));
    assert_eq!(refused.json()["error"]["scope"], "member");
    let mut manager = Client::signed_in(&service, ada.key.as_str());
    let usage = manager.get("/team/usage?by=member");
    assert!(usage.text().contains("bob") && usage.text().contains("0.002"), "{}", usage.text());
    assert!(manager.get("/team/usage.csv?by=member").text().contains("bob"));
    let audit = service.get("/admin/v1/audit", ADMIN_TOKEN);
    assert!(audit.text().contains(&format!("member:{}", ada.member)), "{}", audit.text());
    let path = format!("/team/members/{}", bob.member);
    for (budget, period, status) in
        [("-1", "day", 400), ("x", "day", 400), ("1", "year", 400), ("", "", 303)]
    {
        let fields = [("budget", budget), ("period", period)];
        assert_eq!(manager.submit(&path, &path, &fields).status, status, "{budget} {period}");
    }
}

#[test]
fn a_team_page_is_visible_only_to_its_manager() {
    let (_upstream, service, [ada, bob], _) = setup();
    let eve = service.holder("eve", 0);
    let other = team(&service, "other", PRICE);
    change(&service, &eve, &json!({ "team": other })).good();
    change(&service, &eve, &json!({ "role": "manager" })).good();
    let of_bob = format!("/team/members/{}", bob.member);
    let budget = [("budget", "1"), ("period", "day")];
    let mut member = Client::signed_in(&service, bob.key.as_str());
    for path in ["/team", "/team/usage", "/team/usage.csv", of_bob.as_str()] {
        assert_eq!(member.get(path).status, 403, "{path}");
    }
    assert_eq!(member.submit("/", &of_bob, &budget).status, 403);
    // The manager of another team.
    let mut manager = Client::signed_in(&service, eve.key.as_str());
    assert!(!manager.get("/team").text().contains("bob"));
    assert!(!manager.get("/team/usage?by=member").text().contains("bob"));
    assert_eq!(manager.get(&of_bob).status, 404);
    assert_eq!(manager.submit("/", &of_bob, &budget).status, 404);
    for path in ["/operator", "/operator/teams", "/operator/members"] {
        assert_eq!(manager.get(path).status, 403, "{path}");
    }
    let own = format!("/operator/members/{}", eve.member);
    let fields = [("action", "role"), ("role", "operator")];
    assert_eq!(manager.submit("/", &own, &fields).status, 403);
    // Forms need their token and their origin.
    let csrf = Client::signed_in(&service, ada.key.as_str()).csrf("/");
    let mut own = Client::signed_in(&service, ada.key.as_str());
    let fields = [("csrf", csrf.as_str()), ("budget", "1"), ("period", "day")];
    assert_eq!(own.post(&of_bob, &fields).status, 403);
    let csrf = own.csrf("/");
    let fields = [("csrf", csrf.as_str()), ("budget", "1"), ("period", "day")];
    assert_eq!(own.post_from("https://evil.example", &of_bob, &fields).status, 403);
    // A manager who is moved to another team manages neither.
    assert_eq!(own.get(&of_bob).status, 200);
    change(&service, &ada, &json!({ "team": other })).good();
    assert_eq!(own.get("/team").status, 403);
    assert_eq!(own.submit("/", &of_bob, &budget).status, 403);
    let found = service.get(&format!("/admin/v1/members/{}", bob.member), ADMIN_TOKEN).good();
    assert_eq!(found["budget"], json!(null));
}

#[test]
fn the_operator_role_grants_operator_pages_until_revoked() {
    let (_upstream, service, [ada, _], crew) = setup();
    change(&service, &ada, &json!({ "role": "operator" })).good();
    let narrow = service.key_with(ada.member, |new| new.scopes.truncate(2));
    let mut client = Client::signed_in(&service, ada.key.as_str());
    assert!(client.get("/").text().contains("href=\"/operator\""));
    for path in ["/operator", "/operator/members", "/operator/teams", "/operator/audit"] {
        let page = client.get(path);
        assert_eq!(page.status, 200, "{path}");
        assert!(page.text().contains("My pages"), "{path}");
    }
    assert_eq!(client.get("/keys").status, 200, "the own pages remain");
    let page = format!("/operator/teams/{crew}");
    let fields = [("amount", "1"), ("reason", "gift"), ("confirmed", "yes")];
    assert_eq!(client.submit(&page, &format!("{page}/post"), &fields).status, 303);
    let audit = service.get("/admin/v1/audit", ADMIN_TOKEN);
    assert!(audit.text().contains(&format!("member:{}", ada.member)), "{}", audit.text());
    // A key of few scopes does not open them, and no key opens the admin API.
    let mut limited = Client::signed_in(&service, narrow.as_str());
    assert_eq!(limited.get("/operator").status, 403);
    assert_eq!(service.get("/admin/v1/members", ada.key.as_str()).status, 401);
    // The session lives on, the role does not.
    let csrf = client.csrf("/operator/members");
    let store = service.store.clone();
    service.wait(async move {
        let change = gateway_store::MemberChange::Role(gateway_store::Role::Member);
        let by = gateway_store::Actor { name: "another process".to_owned(), request: None };
        store.change_member(ada.member, &change, &by).await.unwrap();
    });
    for path in ["/operator", "/operator/members", &page] {
        assert_eq!(client.get(path).status, 403, "{path}");
    }
    let fields = [("csrf", csrf.as_str()), ("name", "stolen")];
    assert_eq!(client.post("/operator/members", &fields).status, 403);
    assert_eq!(client.get("/keys").status, 200);
}
