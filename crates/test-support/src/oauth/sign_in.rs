//! Signs a user in, with a browser or with plain requests.

mod http_visitor;

use std::time::{Duration, Instant};

use super::recorded_request::parameter;
use crate::browser::{Browser, ColorScheme};

pub use http_visitor::{visit, visit_and_refuse};

/// Maximum number of pages between the authorization URL and the redirect.
const MAX_PAGES: usize = 8;
const SIGN_IN_WAIT: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInResult {
    /// The last URL: that of the redirect, or of the page that refused.
    pub url: String,
    pub text: String,
}

impl SignInResult {
    pub fn parameter(&self, name: &str) -> Option<String> {
        parameter(&self.url, name)
    }
}

/// Signs in at an [`Oidc`](super::Oidc) as any user, and consents.
///
/// Starts at an authorization URL and ends where no form is left: at the redirect, whether a server
/// listens there or not, or at an error page.
pub fn sign_in_with_browser(address: &str, user: &str) -> SignInResult {
    sign_in_with(&Browser::start(900, 700, ColorScheme::Light), address, user)
}

/// The same in a browser that stays open; one that signed in before may see no page.
pub fn sign_in_with(browser: &Browser, address: &str, user: &str) -> SignInResult {
    let deadline = Instant::now() + SIGN_IN_WAIT;
    let back = parameter(address, "redirect_uri");
    browser.try_goto(address);
    for _ in 0..MAX_PAGES {
        assert!(Instant::now() < deadline, "the login takes too long: {}", browser.address());
        let url = browser.address();
        let is_back = back.as_deref().is_some_and(|back| url.starts_with(back));
        if is_back || browser.eval("return !document.querySelector('form button')") == true {
            let text = browser.eval("return document.body?.innerText ?? ''");
            return SignInResult { url, text: text.as_str().unwrap_or_default().to_owned() };
        }
        // The next page does not have the mark.
        browser.eval(
            "for (const field of document.querySelectorAll('input[required]')) field.value = 'a word';
             window.isOld = true",
        );
        if browser.eval("return !!document.querySelector('input[name=login]')") == true {
            browser.eval(&format!("document.querySelector('input[name=login]').value = {user:?}"));
        }
        browser.click("form button");
        browser.eventually("the next page", "return !window.isOld");
    }
    panic!("more than {MAX_PAGES} pages: {}", browser.address())
}
