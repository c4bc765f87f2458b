//! How long the console's pages take when much is stored.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::home::ADMIN_TOKEN;
use crate::table::{Better, Goal, Spread, row};

const MEMBER_PAGES: &[&str] = &[
    "/",
    "/usage",
    "/usage?days=365",
    "/usage.csv",
    "/receipts",
    "/receipts?q=small",
    "/receipts?q=nothing&kind=charge",
    "/keys",
    "/models",
    "/playground",
    "/research",
    "/media",
    "/connect",
    "/sessions",
];
const OPERATOR_PAGES: &[&str] = &[
    "/operator",
    "/operator/members",
    "/operator/members?q=nobody",
    "/operator/members/mem_500000",
    "/operator/teams",
    "/operator/keys",
    "/operator/keys?q=bench",
    "/operator/keys?q=mem_500000",
    "/operator/keys?q=nothing",
    "/operator/usage",
    "/operator/usage?by=member",
    "/operator/usage?days=365",
    "/operator/usage?days=365&by=member",
    "/operator/usage?by=team",
    "/operator/usage?days=365&by=team",
    "/operator/usage.csv",
    "/operator/ledger",
    "/operator/audit",
    "/operator/alerts",
    "/operator/providers",
    "/operator/prices",
    "/operator/configuration",
];
const TEAM_PAGES: &[&str] =
    &["/team", "/team/usage", "/team/usage?by=member", "/team/usage?days=365", "/team/usage.csv"];
const ROUNDS: usize = 5;
const GOAL: Goal = Goal { bar: 200.0, aim: Some(50.0), unit: "ms", better: Better::Lower };
/// A file with every member and day may take longer.
const FILE_GOAL: Goal = Goal { bar: 1000.0, aim: None, unit: "ms", better: Better::Lower };
/// On a page that shows itself without its numbers while they are added up.
const PENDING: &str = "<h2>Adding up</h2>";
/// How long numbers may take.
const MAX_WAIT: Duration = Duration::from_mins(2);

/// A row for each page of a member, of the operator and of the manager of a team.
pub(crate) fn rows(service: SocketAddr, key: &str) {
    let member = Browser::sign_in(service, key);
    let receipts = member.open("/receipts").page;
    let receipt = receipts.split("href=\"/receipts/req_").nth(1).expect("a receipt");
    let receipt = format!("/receipts/req_{}", receipt.split('"').next().expect("its id"));
    let own_key = format!("/keys/{}", &key[4..16]);
    member.rows("member", MEMBER_PAGES.iter().copied().chain([&*receipt, &*own_key]));

    let (member, team) = make_manager(service, key);
    let team = format!("/operator/teams/{team}");
    let of_key = format!("/operator{own_key}");
    let operator = Browser::sign_in(service, ADMIN_TOKEN);
    operator.rows("operator", OPERATOR_PAGES.iter().copied().chain([&*team, &*of_key]));

    let member = format!("/team/members/{member}");
    let manager = Browser::sign_in(service, key);
    manager.rows("manager", TEAM_PAGES.iter().copied().chain([&*member]));
}

/// Makes the member of a key the manager of a new team; returns the ids of both.
fn make_manager(service: SocketAddr, key: &str) -> (String, String) {
    let send = |request: ureq::http::request::Builder, bearer: &str, body: Value| {
        let request = request.header("authorization", format!("Bearer {bearer}"));
        let request = request.header("content-type", "application/json");
        let request = request.body(body.to_string()).expect("a request");
        let mut answer = ureq::run(request).expect("an answer");
        let text = answer.body_mut().read_to_string().expect("a body");
        let body: Value = serde_json::from_str(&text).expect("JSON");
        body["id"].as_str().expect("an id").to_owned()
    };
    let at = |path: &str| format!("http://{service}{path}");
    let me = ureq::get(at("/v1/me")).header("authorization", format!("Bearer {key}")).call();
    let me = me.expect("an answer").body_mut().read_to_string().expect("a body");
    let me: Value = serde_json::from_str(&me).expect("JSON");
    let member = me["id"].as_str().expect("an id").to_owned();
    let team = ureq::http::Request::post(at("/admin/v1/teams"));
    let team = send(team, ADMIN_TOKEN, json!({ "name": "crew" }));
    for change in [json!({ "team": team }), json!({ "role": "manager" })] {
        let patch = ureq::http::Request::patch(at(&format!("/admin/v1/members/{member}")));
        send(patch, ADMIN_TOKEN, change);
    }
    (member, team)
}

/// A person who is signed in.
struct Browser {
    agent: ureq::Agent,
    origin: String,
    cookie: String,
}

impl Browser {
    fn sign_in(service: SocketAddr, credential: &str) -> Self {
        let agent = ureq::Agent::config_builder().max_redirects(0).build().new_agent();
        let origin = format!("http://{service}");
        let form = agent.get(&origin).header("accept", "text/html").call();
        let mut form = form.expect("the form to sign in");
        let cookie = cookie(&form);
        let page = form.body_mut().read_to_string().expect("a page");
        let csrf = page.split("name=\"csrf\" value=\"").nth(1).expect("a token");
        let csrf = csrf.split('"').next().expect("its end");
        let fields = [("csrf", csrf), ("key", credential), ("next", "")];
        let request = agent.post(format!("{origin}/sign-in"));
        let request = request.header("cookie", &cookie).header("origin", &origin);
        let answer = request.send_form(fields).expect("an answer");
        assert_eq!(answer.status().as_u16(), 303, "signed in");
        Self { agent, cookie: self::cookie(&answer), origin }
    }

    /// A row for each page, with its numbers.
    fn rows<'a>(&self, who: &str, pages: impl Iterator<Item = &'a str>) {
        for page in pages {
            let name = format!("{who} page {page}");
            let begun = Instant::now();
            let mut is_pending = false;
            while self.open(page).page.contains(PENDING) {
                is_pending = true;
                assert!(begun.elapsed() < MAX_WAIT, "{page} never has its numbers");
            }
            if is_pending {
                let waited = Spread::new([begun.elapsed().as_secs_f64()]);
                let took = format!("{:.1} s", waited.median());
                row(&format!("{name}, until its numbers are added up"), &took, "-", &waited, None);
            }
            let times = Spread::new((0..ROUNDS).map(|_| {
                let opened = self.open(page);
                assert!(!opened.page.contains(PENDING), "{page} has no numbers");
                opened.took.as_secs_f64() * 1000.0
            }));
            let took = format!("{:.1} ms", times.median());
            let goal = if page.contains(".csv") { FILE_GOAL } else { GOAL };
            row(&name, &took, "-", &times, Some(goal));
        }
    }

    /// Opens a page until all of it is there.
    fn open(&self, page: &str) -> Opened {
        let begun = Instant::now();
        let request = self.agent.get(format!("{}{page}", self.origin));
        let request = request.header("accept", "text/html").header("cookie", &self.cookie);
        let mut answer = request.call().unwrap_or_else(|error| panic!("{page}: {error}"));
        assert_eq!(answer.status().as_u16(), 200, "{page}");
        let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec().expect("a body");
        let took = begun.elapsed();
        Opened { took, page: String::from_utf8_lossy(&body).into_owned() }
    }
}

/// A page, and how long it took.
struct Opened {
    took: Duration,
    page: String,
}

/// The first cookie of an answer.
fn cookie(answer: &ureq::http::Response<ureq::Body>) -> String {
    let header = answer.headers().get("set-cookie").and_then(|value| value.to_str().ok());
    let cookie = header.and_then(|cookie| cookie.split(';').next());
    cookie.expect("a cookie").to_owned()
}
