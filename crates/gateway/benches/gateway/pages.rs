//! How long the console's pages take when much is stored.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::home::ADMIN_TOKEN;
use crate::table::{Better, Goal, Spread, row};

const MEMBER_PAGES: &[&str] = &[
    "/",
    "/usage",
    "/usage?days=365",
    "/usage.csv",
    "/receipts",
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
    "/operator/usage",
    "/operator/usage?by=member",
    "/operator/usage?days=365",
    "/operator/usage?days=365&by=member",
    "/operator/usage.csv",
    "/operator/ledger",
    "/operator/audit",
    "/operator/alerts",
    "/operator/providers",
    "/operator/prices",
    "/operator/configuration",
];
const ROUNDS: usize = 5;
const GOAL: Goal = Goal { bar: 200.0, aim: Some(50.0), unit: "ms", better: Better::Lower };

/// A row for each page of a member and of the operator.
pub(crate) fn rows(service: SocketAddr, key: &str) {
    for (who, credential, pages) in
        [("member", key, MEMBER_PAGES), ("operator", ADMIN_TOKEN, OPERATOR_PAGES)]
    {
        let browser = Browser::sign_in(service, credential);
        for page in pages {
            let times = (0..ROUNDS).map(|_| browser.open(page).as_secs_f64() * 1000.0);
            let times = Spread::new(times);
            let took = format!("{:.1} ms", times.median());
            row(&format!("{who} page {page}"), &took, "-", &times, Some(GOAL));
        }
    }
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

    /// The time until the whole page is there.
    fn open(&self, page: &str) -> Duration {
        let begun = Instant::now();
        let request = self.agent.get(format!("{}{page}", self.origin));
        let request = request.header("accept", "text/html").header("cookie", &self.cookie);
        let mut answer = request.call().unwrap_or_else(|error| panic!("{page}: {error}"));
        assert_eq!(answer.status().as_u16(), 200, "{page}");
        answer.body_mut().with_config().limit(1 << 30).read_to_vec().expect("a body");
        begun.elapsed()
    }
}

/// The first cookie of an answer.
fn cookie(answer: &ureq::http::Response<ureq::Body>) -> String {
    let header = answer.headers().get("set-cookie").and_then(|value| value.to_str().ok());
    let cookie = header.and_then(|cookie| cookie.split(';').next());
    cookie.expect("a cookie").to_owned()
}
