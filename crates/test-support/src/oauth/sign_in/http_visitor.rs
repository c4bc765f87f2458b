//! An HTTP client that follows redirects, keeps cookies and submits the one form of a page.

use std::collections::BTreeMap;
use std::time::Duration;

use ureq::http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

use super::SignInResult;
use crate::oauth::recorded_request::parameter;

const MAX_REQUESTS: usize = 30;
const REQUEST_WAIT: Duration = Duration::from_secs(30);
const MAX_PAGE_BYTES: u64 = 8 * 1024 * 1024;

/// Completes a login from an authorization URL as a browser would: through redirects, with cookies,
/// and through the pages of an [`Oidc`](crate::oauth::Oidc), where it signs in as `somebody` and
/// consents. The page of a device code with its code filled in works, too.
///
/// Ends at the redirect, whether a server listens there or not, or at a page without a form.
pub fn visit(address: &str) -> SignInResult {
    go_through(address, ConsentChoice::Consents)
}

/// The same for a user who cancels at the first page.
pub fn visit_and_refuse(address: &str) -> SignInResult {
    go_through(address, ConsentChoice::Refuses)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConsentChoice {
    Consents,
    Refuses,
}

fn go_through(address: &str, mind: ConsentChoice) -> SignInResult {
    let back = parameter(address, "redirect_uri");
    let mut visitor = HttpVisitor::new();
    let mut url = address.to_owned();
    let (mut form, mut is_refused) = (None, false);
    for _ in 0..MAX_REQUESTS {
        let is_back = back.as_deref().is_some_and(|back| url.starts_with(back));
        let mut answer = match visitor.go(&url, form.take()) {
            Ok(answer) => answer,
            Err(_) if is_back => return SignInResult { url, text: String::new() },
            Err(error) => panic!("{url}: {error}"),
        };
        let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        if let (300..400, Some(location)) = (answer.status().as_u16(), location) {
            url = resolve(&url, location);
            continue;
        }
        let page = answer.body_mut().with_config().limit(MAX_PAGE_BYTES).read_to_string();
        let page = page.unwrap_or_default();
        let target = between(&page, "action=\"", "\"").filter(|_| !is_back && !is_refused);
        let Some(target) = target else { return SignInResult { url, text: page } };
        let mut fields = hidden_fields(&page);
        let is_code = fields.iter().any(|(name, _)| *name == "user_code");
        if mind == ConsentChoice::Refuses && !is_code {
            url = format!("{}/abort", resolve(&url, target));
            continue;
        }
        if mind == ConsentChoice::Refuses && fields.iter().any(|(name, _)| *name == "confirm") {
            fields.push(("abort", "yes"));
            is_refused = true;
        }
        fields.extend([("login", "somebody"), ("password", "a word")]);
        let mut encoded = form_urlencoded::Serializer::new(String::new());
        form = Some(encoded.extend_pairs(fields).finish());
        url = resolve(&url, target);
    }
    panic!("the login does not end: {url}")
}

struct HttpVisitor {
    agent: Agent,
    /// By origin and name.
    cookies: BTreeMap<(String, String), String>,
}

impl HttpVisitor {
    fn new() -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(REQUEST_WAIT))
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .build();
        Self { agent: Agent::new_with_config(config), cookies: BTreeMap::new() }
    }

    fn go(&mut self, url: &str, form: Option<String>) -> Result<Response<Body>, ureq::Error> {
        let origin = origin(url).to_owned();
        let own = self.cookies.iter().filter(|((of, _), _)| *of == origin);
        let cookies: Vec<String> =
            own.map(|((_, name), value)| format!("{name}={value}")).collect();
        let method = if form.is_some() { "POST" } else { "GET" };
        let request = Request::builder().method(method).uri(url).header(COOKIE, cookies.join("; "));
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = match form {
            Some(form) => self.agent.run(request.body(form)?),
            None => self.agent.run(request.body(())?),
        }?;
        for cookie in answer.headers().get_all(SET_COOKIE) {
            let pair = cookie.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert((origin.clone(), name.to_owned()), value.to_owned());
            }
        }
        Ok(answer)
    }
}

/// Scheme and authority of a URL.
fn origin(url: &str) -> &str {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let end = url[after_scheme..].find(['/', '?', '#']);
    end.map_or(url, |end| &url[..after_scheme + end])
}

fn resolve(base: &str, target: &str) -> String {
    if target.starts_with('/') { format!("{}{target}", origin(base)) } else { target.to_owned() }
}

fn hidden_fields(page: &str) -> Vec<(&str, &str)> {
    let inputs = page.split("<input type=\"hidden\" ").skip(1);
    let field = |input| Some((between(input, "name=\"", "\"")?, between(input, "value=\"", "\"")?));
    inputs.filter_map(field).collect()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = text.split_once(before)?.1;
    rest.split_once(after).map(|(found, _)| found)
}
