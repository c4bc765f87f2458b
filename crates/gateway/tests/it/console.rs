//! The web pages: sign-in, the pages of members and of operators, in HTTP and in a browser.

mod accessibility;
mod budgets;
mod forms;
mod member_pages;
mod operator_pages;
mod security;
mod teams;

use agent_test_support::browser::{Browser, ColorScheme};
use agent_test_support::upstream::Upstream;
use http::{Method, Request};

use crate::support::{Answer, Holder, PRICE, Running, plain};

/// A service with two chat models, and a member who can pay.
pub(crate) fn setup() -> (Upstream, Running, Holder) {
    let upstream = Upstream::start();
    let service = Running::start(&plain(&upstream, &["echo", "drip-3-1"], ""));
    let holder = service.holder("ada", 1000 * PRICE);
    (upstream, service, holder)
}

/// A client of the pages with its cookies, which does what browsers do.
pub(crate) struct Client<'a> {
    service: &'a Running,
    cookies: Vec<(String, String)>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(service: &'a Running) -> Self {
        Self { service, cookies: Vec::new() }
    }

    /// A client that signed in.
    pub(crate) fn signed_in(service: &'a Running, secret: &str) -> Self {
        let mut client = Self::new(service);
        let answer = client.sign_in(secret);
        assert_eq!((answer.status, answer.header("location")), (303, "/"), "{}", answer.text());
        client
    }

    pub(crate) fn sign_in(&mut self, secret: &str) -> Answer {
        let csrf = self.csrf("/");
        self.post("/sign-in", &[("csrf", &csrf), ("key", secret)])
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(Request::builder().method(Method::GET).uri(path), Vec::new())
    }

    /// The token of the first form of a page.
    pub(crate) fn csrf(&mut self, path: &str) -> String {
        let page = self.get(path);
        let text = page.text().split("name=\"csrf\" value=\"").nth(1);
        let text = text.unwrap_or_else(|| panic!("no form at {path}: {}", page.text()));
        text.split('"').next().unwrap().to_owned()
    }

    /// Sends a form.
    pub(crate) fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let origin = self.service.origin();
        self.post_from(&origin, path, fields)
    }

    /// Sends a form from a page of this origin.
    pub(crate) fn post_from(
        &mut self,
        origin: &str,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Answer {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("origin", origin)
            .header("content-type", "application/x-www-form-urlencoded");
        self.send(request, body.finish().into_bytes())
    }

    /// Sends a form of a page that was just loaded.
    pub(crate) fn submit(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf(page);
        let fields: Vec<_> = [("csrf", csrf.as_str())].into_iter().chain(fields.to_vec()).collect();
        self.post(path, &fields)
    }

    pub(crate) fn send(&mut self, request: http::request::Builder, body: Vec<u8>) -> Answer {
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = request.header("accept", "text/html").header("cookie", cookies.join("; "));
        let answer = self.service.send_raw(request.body(body).unwrap());
        for set in answer.headers.get_all("set-cookie") {
            let set = set.to_str().unwrap();
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        answer
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let found = self.cookies.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn set_cookie(&mut self, name: &str, value: &str) {
        self.cookies.push((name.to_owned(), value.to_owned()));
    }
}

/// A browser whose person signed in through the form.
pub(crate) fn browse(service: &Running, secret: &str, width: u32, scheme: ColorScheme) -> Browser {
    let browser = Browser::start(width, 900, scheme);
    browser.goto(&service.origin());
    browser.click("#key");
    browser.press(secret);
    browser.click("form button");
    browser.eventually("signed in", "return document.querySelector('.account') !== null");
    browser
}
