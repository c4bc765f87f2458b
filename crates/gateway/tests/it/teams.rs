//! Teams: who pays, the admin API, `/v1/me`, refusals, and several processes.

use agent_test_support::postgres::Cluster;
use agent_test_support::upstream::Upstream;
use http::Method;
use serde_json::{Value, json};

use crate::budgets::noon;
use crate::fixture::{chat, two_in_postgres};
use crate::support::{ADMIN_TOKEN, Answer, Holder, PRICE, Running, plain};

const CHAT: &str = "/v1/chat/completions";

fn admin(service: &Running, method: Method, path: &str, body: &Value) -> Answer {
    let body = (!body.is_null()).then_some(body);
    service.send(method, &format!("/admin/v1{path}"), Some(ADMIN_TOKEN), body)
}

/// Creates a team with a balance through the API; returns its id.
pub(crate) fn team(service: &Running, name: &str, micros: i64) -> String {
    let made = admin(service, Method::POST, "/teams", &json!({ "name": name })).good();
    let id = made["id"].as_str().unwrap().to_owned();
    if micros > 0 {
        let paid = json!({ "amount_micros": micros, "reason": "invoice" });
        admin(service, Method::POST, &format!("/members/{id}/top-ups"), &paid).good();
    }
    id
}

/// Changes a member through the API.
pub(crate) fn change(service: &Running, holder: &Holder, body: &Value) -> Answer {
    admin(service, Method::PATCH, &format!("/members/{}", holder.member), body)
}

fn setup() -> (Upstream, Running) {
    let upstream = Upstream::start();
    let service = Running::start(&plain(&upstream, &["echo"], &noon()));
    (upstream, service)
}

#[test]
fn a_team_pays_and_all_views_show_it() {
    let (_upstream, service) = setup();
    let (ada, bob) = (service.holder("ada", 5 * PRICE), service.holder("bob", 0));
    let team = team(&service, "crew", 3 * PRICE);
    for holder in [&ada, &bob] {
        let view = change(&service, holder, &json!({ "team": team })).good();
        assert_eq!((&view["team"], &view["role"]), (&json!(team), &json!("member")));
    }
    let budget = json!({ "budget": { "amount_micros": 2 * PRICE, "period": "month" } });
    admin(&service, Method::PATCH, &format!("/teams/{team}"), &budget).good();
    let answer = service.post(CHAT, ada.key.as_str(), &chat("x"));
    assert_eq!((answer.status, answer.header("x-budget-scope")), (200, "team"));
    let id = answer.header("x-request-id").to_owned();
    let receipt = service.get(&format!("/v1/requests/{id}"), ada.key.as_str()).good();
    assert_eq!((&receipt["payer"], &receipt["charge_micros"]), (&json!(team), &json!(PRICE)));
    assert_eq!(service.get(&format!("/v1/requests/{id}"), bob.key.as_str()).status, 404);
    let receipt = service.get(&format!("/admin/v1/receipts/{id}"), ADMIN_TOKEN).good();
    let expected = json!(ada.member.to_string());
    assert_eq!((&receipt["payer"], &receipt["member"]), (&json!(team), &expected));

    let me = service.get("/v1/me", ada.key.as_str()).good();
    assert_eq!((&me["balance_micros"], &me["role"]), (&json!(5 * PRICE), &json!("member")));
    assert_eq!((&me["team"]["name"], &me["team"]["id"]), (&json!("crew"), &json!(team)));
    assert_eq!(me["team"]["balance_micros"], 2 * PRICE);
    assert_eq!(me["team"]["budget"]["left_micros"], PRICE);
    assert_eq!(me["budgets"][0]["scope"], "team");
    assert_eq!(me["usage"]["month"], json!({ "requests": 1, "charged_micros": PRICE }));

    // The budget of the team covers both, and then its balance does.
    assert_eq!(service.post(CHAT, bob.key.as_str(), &chat("x")).status, 200);
    let refused = service.post(CHAT, bob.key.as_str(), &chat("x"));
    assert_eq!(refused.failure(), (402, "budget_reached".to_owned()));
    assert_eq!(refused.header("x-budget-scope"), "team");
    let error = &refused.json()["error"];
    assert_eq!((&error["scope"], &error["available_micros"]), (&json!("team"), &json!(0)));
    assert!(error["message"].as_str().unwrap().contains("this team may spend per month"));
    admin(&service, Method::PATCH, &format!("/teams/{team}"), &json!({ "budget": null })).good();
    assert_eq!(service.post(CHAT, bob.key.as_str(), &chat("x")).status, 200);
    let refused = service.post(CHAT, ada.key.as_str(), &chat("x"));
    assert_eq!(refused.failure(), (402, "insufficient_balance".to_owned()));
    let error = &refused.json()["error"];
    assert_eq!((&error["scope"], &error["available_micros"]), (&json!("team"), &json!(0)));
    // The balance of the member is its own, and pays when the member leaves.
    assert_eq!(service.account(ada.member).balance.get(), 5 * PRICE);
    change(&service, &ada, &json!({ "team": null })).good();
    assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 200);
    assert_eq!(service.account(ada.member).balance.get(), 4 * PRICE);
    assert_eq!(service.get("/v1/me", ada.key.as_str()).good()["team"], Value::Null);

    let statement = format!("/admin/v1/members/{team}/statement");
    let statement = service.get(&statement, ADMIN_TOKEN).good();
    let lines = statement["data"].as_array().unwrap();
    let askers: Vec<&str> = lines.iter().filter_map(|line| line["asked_by"].as_str()).collect();
    let (ada_id, bob_id) = (ada.member.to_string(), bob.member.to_string());
    assert_eq!(askers, [&bob_id, &bob_id, &ada_id]);
    let usage = service.get("/admin/v1/usage?by=team", ADMIN_TOKEN).good();
    let line = |index: usize| {
        let line = &usage["data"][index];
        (line["team"]["name"].as_str(), line["charged_micros"].as_i64().unwrap())
    };
    assert_eq!((line(0), line(1)), ((Some("crew"), 3 * PRICE), (None, PRICE)));
    let path = format!("/admin/v1/usage?by=member&team={team}");
    let usage = service.get(&path, ADMIN_TOKEN).good();
    assert_eq!(usage["data"][0]["member"]["name"], "bob");
    assert_eq!(usage["total"]["charged_micros"], 3 * PRICE);
    service.check_ledger();
}

#[test]
fn members_and_keys_keep_their_limits_in_a_team() {
    let (_upstream, service) = setup();
    let (ada, bob) = (service.holder("ada", 0), service.holder("bob", 0));
    let team = team(&service, "crew", 100 * PRICE);
    let budget = json!({ "amount_micros": PRICE, "period": "day" });
    change(&service, &ada, &json!({ "team": team, "budget": budget })).good();
    change(&service, &bob, &json!({ "team": team })).good();
    let path = format!("/admin/v1/keys/{}", bob.key.public_id());
    let limit = json!({ "spend_limit_micros": PRICE });
    service.send(Method::PATCH, &path, Some(ADMIN_TOKEN), Some(&limit)).good();
    for (holder, code, scope) in
        [(&ada, "budget_reached", "member"), (&bob, "key_limit_reached", "key")]
    {
        assert_eq!(service.post(CHAT, holder.key.as_str(), &chat("x")).status, 200);
        let refused = service.post(CHAT, holder.key.as_str(), &chat("x"));
        assert_eq!(refused.failure(), (402, code.to_owned()));
        assert_eq!(refused.json()["error"]["scope"], scope);
    }
    service.check_ledger();
}

#[test]
fn teams_are_managed_through_the_api() {
    let (_upstream, service) = setup();
    let ada = service.holder("ada", 0);
    let crew = team(&service, "crew", PRICE);
    let path = format!("/teams/{crew}");
    let other = team(&service, "other", 0);
    let none = Value::Null;
    let get = |path: &str| admin(&service, Method::GET, path, &none);
    for (body, status) in [
        (json!({ "name": "crew" }), 409),
        (json!({ "name": "ada" }), 409),
        (json!({ "name": "" }), 400),
        (json!({ "name": "mem_9" }), 400),
        (json!({ "name": "x", "role": "member" }), 400),
    ] {
        assert_eq!(admin(&service, Method::POST, "/teams", &body).status, status, "{body}");
    }
    let names = |answer: Value| {
        let data = answer["data"].as_array().unwrap().clone();
        data.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(get("/teams").good()), ["crew", "other"]);
    assert_eq!(names(get(&format!("/teams?limit=1&after={crew}")).good()), ["other"]);
    assert_eq!(names(get("/members").good()), ["ada"]);
    // A team is no member and a member no team.
    assert_eq!(get(&format!("/members/{crew}")).status, 404);
    assert_eq!(get(&format!("/teams/{}", ada.member)).status, 404);
    let keys = format!("/members/{crew}/keys");
    assert_eq!(admin(&service, Method::POST, &keys, &json!({})).status, 404);
    for (body, status) in [
        (json!({ "team": "mem_404" }), 404),
        (json!({ "team": ada.member.to_string() }), 404),
        (json!({ "team": "crew" }), 404),
        (json!({ "role": "king" }), 400),
        (json!({ "role": "manager" }), 409),
        (json!({ "team": crew, "role": "manager" }), 200),
    ] {
        assert_eq!(change(&service, &ada, &body).status, status, "{body}");
    }
    let members = get(&format!("{path}/members")).good();
    assert_eq!(
        (members["data"][0]["name"].as_str(), members["data"][0]["role"].as_str()),
        (Some("ada"), Some("manager"))
    );
    // Moving makes a manager a member.
    assert_eq!(change(&service, &ada, &json!({ "team": other })).good()["role"], "member");
    change(&service, &ada, &json!({ "team": crew })).good();

    let renamed = json!({ "name": "staff", "blocked": true });
    let view = admin(&service, Method::PATCH, &path, &renamed).good();
    assert_eq!((&view["name"], &view["object"]), (&json!("staff"), &json!("team")));
    let refused = service.post(CHAT, ada.key.as_str(), &chat("x"));
    assert_eq!(refused.failure(), (403, "member_blocked".to_owned()));
    admin(&service, Method::PATCH, &path, &json!({ "blocked": false })).good();

    let remove = || admin(&service, Method::DELETE, &path, &none);
    assert_eq!(remove().failure(), (409, "conflict".to_owned()));
    assert!(remove().text().contains("has members"), "{}", remove().text());
    change(&service, &ada, &json!({ "team": null })).good();
    assert!(remove().text().contains("has a balance"), "{}", remove().text());
    let taken = json!({ "amount_micros": -PRICE, "reason": "closed" });
    admin(&service, Method::POST, &format!("/members/{crew}/adjustments"), &taken).good();
    remove().good();
    assert_eq!((get(&path).status, remove().status), (404, 404));
    assert_eq!(names(get("/teams").good()), ["other"]);
    let actions = get("/audit").text().to_owned();
    for action in ["team.create", "member.team", "member.role", "team.block", "team.remove"] {
        assert!(actions.contains(action), "{action}");
    }
    service.check_ledger();
}

#[test]
fn two_processes_on_postgresql_never_exceed_one_team() {
    let (upstream, database) = (Upstream::start(), Cluster::shared().database());
    let rest = format!("admin_token: ${{ADMIN_TOKEN}}\n{}", noon());
    let services = two_in_postgres(&upstream, &database, &rest);
    let first = &services[0];
    let holders = ["ada", "bob", "cyd"].map(|name| first.holder(name, 0));
    // First the budget and then the balance is the limit.
    for (name, balance, budget, most, code) in [
        ("crew", 40 * PRICE, 10 * PRICE + 1, 10, "budget_reached"),
        ("other", 12 * PRICE + 1, 40 * PRICE, 12, "insufficient_balance"),
    ] {
        let id = team(first, name, balance);
        let budget = json!({ "budget": { "amount_micros": budget, "period": "day" } });
        admin(first, Method::PATCH, &format!("/teams/{id}"), &budget).good();
        for holder in &holders {
            change(first, holder, &json!({ "team": id })).good();
        }
        let answered: i64 = std::thread::scope(|scope| {
            let send = |number: usize| {
                let (service, key) = (&services[number % 2], holders[number % 3].key.as_str());
                scope.spawn(move || {
                    let word = if number.is_multiple_of(5) { "[[status-500]]" } else { "x" };
                    let answer = service.post(CHAT, key, &chat(word));
                    match answer.status {
                        200 => 1,
                        402 => {
                            assert_eq!(answer.failure().1, code);
                            0
                        }
                        status => {
                            assert_eq!(status, 503, "{}", answer.text());
                            0
                        }
                    }
                })
            };
            let threads: Vec<_> = (0..60).map(send).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(answered <= most, "{answered}");
        // Nothing is lost: the rest can be spent, through either process.
        for number in answered..most {
            let service = &services[usize::from(number % 2 == 0)];
            assert_eq!(service.post(CHAT, holders[0].key.as_str(), &chat("x")).status, 200);
        }
        for (service, holder) in services.iter().zip(&holders) {
            let refused = service.post(CHAT, holder.key.as_str(), &chat("x"));
            assert_eq!(refused.failure(), (402, code.to_owned()));
            let error = &refused.json()["error"];
            assert_eq!((&error["available_micros"], &error["scope"]), (&json!(1), &json!("team")));
        }
        let view = admin(first, Method::GET, &format!("/teams/{id}"), &Value::Null).good();
        assert_eq!(view["balance_micros"], balance - most * PRICE);
        first.check_ledger();
    }
}
