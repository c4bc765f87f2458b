//! The pages of operators.

use std::fs;
use std::sync::Arc;

use agent_test_support::browser::ColorScheme;
use agent_test_support::upstream::{Step, Upstream};
use gateway::ConfigFile;
use serde_json::json;

use super::{Client, browse, setup};
use crate::fixture;
use crate::support::{ADMIN_TOKEN, PRICE, Running, plain, reading};

#[test]
fn a_top_up_shows_both_balances_and_reaches_the_member() {
    let (_upstream, service, holder) = setup();
    let operator = browse(&service, ADMIN_TOKEN, 1200, ColorScheme::Light);
    operator.goto(&format!("{}/operator/members/{}", service.origin(), holder.member));
    operator.click("#amount");
    operator.press("12.5");
    operator.click("#reason");
    operator.press("invoice 7");
    operator.click("#reference");
    operator.press("inv-7");
    operator.click("#transfer button");
    operator.eventually(
        "asked once more",
        "return document.querySelector('#transfer').innerText.includes('Balance after')",
    );
    assert!(operator.text("#transfer").contains("13.5"), "{}", operator.text("#transfer"));
    assert_eq!(service.account(holder.member).balance.get(), 1000 * PRICE, "nothing moved yet");
    operator.click("#transfer button");
    assert!(operator.text("#notice").contains("posted"));
    let mut member = Client::signed_in(&service, holder.key.as_str());
    let page = member.get("/");
    assert!(page.text().contains("13.5 <small>credits") && page.text().contains("invoice 7"));
    let audit = Client::signed_in(&service, ADMIN_TOKEN).get("/operator/audit");
    assert!(audit.text().contains("ledger.top_up") && audit.text().contains("console:127.0.0.1"));
    service.check_ledger();
}

#[test]
fn operator_forms_reject_invalid_input() {
    let (_upstream, service, holder) = setup();
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    for (name, status) in
        [("", 400), ("ada", 400), ("mem_9", 400), (&"x".repeat(300), 400), ("bob", 303)]
    {
        let answer = client.submit("/operator/members", "/operator/members", &[("name", name)]);
        assert_eq!(answer.status, status, "{name}");
    }
    let page = format!("/operator/members/{}", holder.member);
    let path = format!("{page}/post");
    for (amount, reason) in [
        ("", "x"),
        ("0", "x"),
        ("five", "x"),
        ("1.0000001", "x"),
        ("5", ""),
        ("1e9", "x"),
        ("-99999", "x"),
    ] {
        let fields = [("amount", amount), ("reason", reason), ("confirmed", "yes")];
        let answer = client.submit(&page, &path, &fields);
        assert_eq!(answer.status, 400, "{amount} {reason}");
        assert!(answer.text().contains("role=\"alert\""));
    }
    let fields = [("amount", "1"), ("reason", "twice"), ("reference", "r1"), ("confirmed", "yes")];
    assert!(client.submit(&page, &path, &fields).header("location").ends_with("done=posted"));
    assert!(
        client.submit(&page, &path, &fields).header("location").ends_with("done=already-posted")
    );
    assert_eq!(service.account(holder.member).balance.get(), 1000 * PRICE + 1_000_000);
    for path in ["/operator/members/mem_999", "/operator/members/x", "/operator/members/mem_%00"] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
}

#[test]
fn members_are_blocked_and_given_keys() {
    let (_upstream, service, holder) = setup();
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    let page = format!("/operator/members/{}", holder.member);
    let made = client.submit(&page, &format!("{page}/keys"), &[("name", "new")]);
    let secret = made.text().split("id=\"secret\">").nth(1).unwrap().split('<').next().unwrap();
    assert_eq!(service.get("/v1/models", secret).status, 200);
    let id = wire::key::ApiKey::parse(secret).unwrap().public_id().to_owned();
    let key = format!("/operator/keys/{id}");
    assert!(client.get(&page).text().contains(&format!("href=\"{key}\"")));
    client.submit(&key, &format!("{key}/revoke"), &[]);
    assert_eq!(service.get("/v1/models", secret).status, 401);
    client.submit(&page, &page, &[("action", "block")]);
    assert_eq!(service.get("/v1/models", holder.key.as_str()).status, 403);
    client.submit(&page, &page, &[("action", "unblock")]);
    assert_eq!(service.get("/v1/models", holder.key.as_str()).status, 200);
    assert_eq!(client.get("/operator/members?q=ada").header("location"), page);
    assert!(client.get("/operator/members?q=nobody").text().contains("No member has"));
}

#[test]
fn keys_of_all_members_are_found_limited_rotated_and_revoked() {
    let (_upstream, service, ada) = setup();
    let eve = service.holder("eve", PRICE);
    let laptop = service.key_with(eve.member, |new| new.name = "laptop".to_owned());
    let chat = fixture::chat("hi");
    assert_eq!(service.post("/v1/chat/completions", ada.key.as_str(), &chat).status, 200);
    let operator = browse(&service, ADMIN_TOKEN, 1200, ColorScheme::Light);
    operator.goto(&format!("{}/operator/keys", service.origin()));
    let table = operator.text("table");
    for text in [ada.key.public_id(), laptop.public_id(), "eve", "just now", "never"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    let found = |client: &mut Client<'_>, word: &str| {
        let page = client.get(&format!("/operator/keys?q={word}"));
        let keys = [&ada.key, &eve.key, &laptop];
        keys.map(|key| page.text().contains(&format!("agk_{}…", key.public_id())))
    };
    assert_eq!(found(&mut client, "laptop"), [false, false, true]);
    assert_eq!(found(&mut client, "eve"), [false, true, true]);
    assert_eq!(found(&mut client, &eve.member.to_string()), [false, true, true]);
    assert_eq!(found(&mut client, "nothing%00"), [false; 3]);
    let path = format!("/operator/keys/{}", laptop.public_id());
    let by_id = client.get(&format!("/operator/keys?q=agk_{}%E2%80%A6", laptop.public_id()));
    assert_eq!(by_id.header("location"), path);

    operator.goto(&format!("{}{path}", service.origin()));
    operator.click("#spend");
    operator.press("2x");
    operator.click("main form button");
    assert!(operator.text("#notice").contains("is not an amount"));
    operator.eval("document.querySelector('#spend').value = '2'; return true");
    operator.click("#budget");
    operator.press("0.5");
    operator.eval("document.querySelector('#period').value = 'week'; return true");
    operator.click("main form button");
    assert!(operator.text("#notice").contains("The key is changed."));
    let me = service.get("/v1/me", laptop.as_str()).good();
    assert_eq!(me["key"]["spend_limit_micros"], 2_000_000);
    assert_eq!(me["budgets"][0]["amount_micros"], 500_000);
    let listed = client.get("/operator/keys?q=laptop");
    assert!(listed.text().contains("2 credits, 0.5 per week"), "{}", listed.text());

    operator.click("[data-dialog=rotate]");
    operator.click("#rotate .primary");
    operator.eventually("rotated", "return document.querySelector('#secret') !== null");
    let rotated = operator.text("#secret");
    assert_eq!(service.get("/v1/models", laptop.as_str()).status, 401);
    assert_eq!(service.get("/v1/models", &rotated).status, 200);
    operator.click("main .actions a");
    operator.click("[data-dialog=revoke]");
    assert!(operator.text("#revoke").contains("Revoke “laptop” of eve?"));
    operator.click("#revoke .danger");
    assert!(operator.text("#notice").contains("The key is revoked."));
    assert_eq!(service.get("/v1/models", &rotated).status, 401);
    let audit = service.get("/admin/v1/audit", ADMIN_TOKEN);
    for action in ["key.change", "key.rotate", "key.revoke"] {
        assert!(audit.text().contains(action), "{action}: {}", audit.text());
    }
    assert_eq!(client.get("/operator/keys/none").status, 404);
    assert_eq!(client.submit(&path, &format!("{path}/rotate"), &[]).status, 409);
}

#[test]
fn the_ledger_is_checked_and_providers_are_tested() {
    let (upstream, service, _) = setup();
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    let checked = client.submit("/operator/ledger", "/operator/ledger", &[]);
    assert!(checked.text().contains("Everything adds up."));
    let tested = client.submit("/operator/providers", "/operator/providers/up/test", &[]);
    assert!(tested.text().contains("up answered in"), "{}", tested.text());
    upstream.go_down();
    let tested = client.submit("/operator/providers", "/operator/providers/up/test", &[]);
    assert!(tested.text().contains("role=\"alert\""), "{}", tested.text());
    assert_eq!(
        client.submit("/operator/providers", "/operator/providers/none/test", &[]).status,
        404
    );
    assert!(client.get("/operator/prices").text().contains("up/echo"));
    let configuration = client.get("/operator/configuration");
    assert!(configuration.text().contains("SQLite") && !configuration.text().contains(ADMIN_TOKEN));
    assert!(!configuration.text().contains(upstream.key()));
}

#[test]
fn the_configuration_is_compared_with_the_file_and_reloaded() {
    let upstream = Upstream::start();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let path = folder.path().join("gateway.yaml");
    let text = plain(&upstream, &["echo"], "");
    fs::write(&path, &text).unwrap();
    let service = {
        let path = path.clone();
        Running::start_after(folder, &text, move |service| {
            service.reloads().read_with(move || {
                let text = fs::read_to_string(&path).unwrap();
                let reading = reading(&text, path.parent().unwrap());
                Ok(ConfigFile { path: path.clone(), reading })
            });
        })
    };
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    let page = "/operator/configuration";
    assert!(client.get(page).text().contains("The service uses this file as it is."));
    fs::write(&path, format!("{text}pricse: 1\nhold_lease_seconds: 1\n")).unwrap();
    let shown = client.get(page);
    assert!(shown.text().contains("gateway.yaml:11:1: pricse"), "{}", shown.text());
    let refused = client.submit(page, page, &[]);
    assert_eq!(refused.status, 409);
    assert!(refused.text().contains("nothing was changed"), "{}", refused.text());
    fs::write(&path, format!("{text}models: {{smart: [up/echo]}}\n")).unwrap();
    assert!(client.get(page).text().contains("Changed since the last reload: <code>models</code>"));
    assert_eq!(client.submit(page, page, &[]).status, 303);
    let shown = client.get(&format!("{page}?done=reloaded"));
    assert!(shown.text().contains("The configuration is reloaded."), "{}", shown.text());
    assert!(shown.text().contains("The service uses this file as it is."));
    assert!(client.get("/operator/prices").text().contains("smart"));
}

#[test]
fn providers_are_drained_and_alerts_are_tested() {
    let (_upstream, service, _) = setup();
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    let page = "/operator/providers";
    let path = format!("{page}/up/state");
    assert_eq!(client.submit(page, &path, &[("action", "drain")]).status, 303);
    assert!(client.get(page).text().contains("drained"));
    assert_eq!(client.submit(page, &path, &[("action", "enable")]).status, 303);
    assert!(!client.get(page).text().contains(">drained"));
    let unknown = format!("{page}/none/state");
    assert_eq!(client.submit(page, &unknown, &[("action", "drain")]).status, 404);
    let tested = client.submit("/operator/alerts", "/operator/alerts", &[]);
    assert_eq!(tested.status, 409, "no channel is configured");
    assert!(tested.text().contains("Alerts are off."), "{}", tested.text());
}

#[test]
fn the_overview_shows_live_figures() {
    let (upstream, service, holder) = setup();
    let chat = || service.post("/v1/chat/completions", holder.key.as_str(), &fixture::chat("hi"));
    let operator = browse(&service, ADMIN_TOKEN, 1200, ColorScheme::Light);
    operator.goto(&format!("{}/operator", service.origin()));
    let empty = ["Requests\n0\n", "median\nnone yet", "Spent today, UTC\n0 credits"];
    let text = operator.text("#figures");
    assert!(empty.iter().all(|figure| text.contains(figure)), "{text}");
    assert_eq!([chat().status, chat().status], [200, 200]);
    upstream.script("echo", vec![Step::Status(500)]);
    assert_eq!(chat().status, 503);
    // Without a reload.
    operator.eventually(
        "three requests",
        "return document.querySelector('#figures').innerText.includes('Requests\\n3\\n')",
    );
    let text = operator.text("#figures");
    for figure in [
        "Errors of the service\n1\n33.3 % of requests",
        "Latency, median\n≤ ",
        "99 % ≤ ",
        "Spent today, UTC\n0.002 credits\n0.002 in 7 days",
        "Tokens\n4",
    ] {
        assert!(text.contains(figure), "{figure}: {text}");
    }
}

#[test]
fn total_usage_is_shown_by_member_and_provider() {
    let (_upstream, service, holder) = setup();
    let chat = json!({"model": "up/echo", "messages": [{"role": "user", "content": "hi"}]});
    service.post("/v1/chat/completions", holder.key.as_str(), &chat);
    let mut client = Client::signed_in(&service, ADMIN_TOKEN);
    assert!(client.get("/operator/usage").text().contains("ada (mem_1)"));
    assert!(
        client
            .get("/operator/usage?by=provider")
            .text()
            .contains("<th scope=\"row\" class=\"break\">up</th>")
    );
    assert!(client.get("/operator/usage.csv?by=member").text().contains("\"ada (mem_1)\",1,"));
}
