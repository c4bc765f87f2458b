//! Budgets on the pages of members and operators.

use agent_test_support::browser::ColorScheme;
use agent_test_support::upstream::Upstream;

use super::{Client, browse};
use crate::budgets::{noon, pass_a_day};
use crate::fixture::chat;
use crate::support::{ADMIN_TOKEN, PRICE, Running, plain};

fn setup() -> (Upstream, Running, crate::support::Holder) {
    let upstream = Upstream::start();
    let service = Running::start(&plain(&upstream, &["echo"], &noon()));
    let holder = service.holder("ada", 1000 * PRICE);
    (upstream, service, holder)
}

#[test]
fn a_budget_is_set_exhausted_shown_and_reset() {
    let (_upstream, service, holder) = setup();
    let operator = browse(&service, ADMIN_TOKEN, 1200, ColorScheme::Light);
    operator.goto(&format!("{}/operator/members/{}", service.origin(), holder.member));
    operator.click("#budget");
    operator.press("0.002");
    operator.eval("document.querySelector('#period').value = 'day'; return true");
    operator.click("#budget-form button");
    operator.eventually("it is saved", "return document.querySelector('.budget') !== null");
    assert!(operator.text(".budget").contains("0.002 of 0.002"), "{}", operator.text(".budget"));

    let member = browse(&service, holder.key.as_str(), 1200, ColorScheme::Dark);
    let send = |word: &str| {
        member.goto(&format!("{}/playground?model=up/echo", service.origin()));
        member.click("#prompt");
        member.press(word);
        member.click("#send");
        member.eventually("it has ended", "return document.querySelector('#stop').hidden && document.querySelector('.said')?.innerText.length > 0");
    };
    let chat_path = "/v1/chat/completions";
    assert_eq!(service.post(chat_path, holder.key.as_str(), &chat("x")).status, 200);
    assert_eq!(service.post(chat_path, holder.key.as_str(), &chat("x")).status, 200);
    send("hello");
    member.eventually(
        "the refusal is shown",
        "return document.body.innerText.includes('may spend per day')",
    );
    member.goto(&service.origin());
    assert!(member.text(".budget").contains("0 of 0.002"), "{}", member.text(".budget"));
    assert!(member.text(".budget").contains("Resets in"), "{}", member.text(".budget"));

    pass_a_day(&service);
    send("hello again");
    member.eventually(
        "an answer",
        "return document.querySelector('.said .assistant')?.textContent.includes('hello again') ?? false",
    );
    member.goto(&service.origin());
    assert!(member.text(".budget").contains("0.001 of 0.002"), "{}", member.text(".budget"));
    service.check_ledger();
}

#[test]
fn members_set_budgets_of_their_keys_within_bounds() {
    let (_upstream, service, holder) = setup();
    let mut client = Client::signed_in(&service, holder.key.as_str());
    let fields = [("name", "app"), ("scope", "chat"), ("budget", "1"), ("period", "week")];
    let made = client.submit("/keys/new", "/keys", &fields);
    let secret = made.text().split("id=\"secret\">").nth(1).unwrap().split('<').next().unwrap();
    let me = service.get("/v1/me", secret).good();
    assert_eq!(me["budgets"][0]["amount_micros"], 1_000_000);
    for (budget, period) in [("-1", "day"), ("x", "day"), ("1", "year"), ("9999999999", "day")] {
        let fields = [("name", "app"), ("scope", "chat"), ("budget", budget), ("period", period)];
        assert_eq!(client.submit("/keys/new", "/keys", &fields).status, 400, "{budget} {period}");
    }
    // A key with a budget cannot widen it, nor create keys that count separately.
    let id = wire::key::ApiKey::parse(secret).unwrap().public_id().to_owned();
    let page = format!("/keys/{id}");
    let mut narrow = Client::signed_in(&service, secret);
    for (budget, period, status) in
        [("2", "week", 400), ("1", "day", 400), ("", "week", 400), ("0.5", "month", 303)]
    {
        let fields = [("name", "app"), ("budget", budget), ("period", period)];
        assert_eq!(narrow.submit(&page, &page, &fields).status, status, "{budget} {period}");
    }
    assert!(narrow.get("/keys/new").text().contains("cannot create keys"));
    assert!(client.get(&page).text().contains("0.5 <small>of 0.5"));
}

#[test]
fn operator_forms_reject_invalid_budgets() {
    let (_upstream, service, holder) = setup();
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    let page = format!("/operator/members/{}", holder.member);
    for (budget, period, status) in
        [("-1", "day", 400), ("five", "day", 400), ("5", "", 400), ("5", "day", 303), ("", "", 303)]
    {
        let fields = [("action", "budget"), ("budget", budget), ("period", period)];
        assert_eq!(client.submit(&page, &page, &fields).status, status, "{budget} {period}");
    }
    assert!(!client.get(&page).text().contains("figure-card budget"));
}
