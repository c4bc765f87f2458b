//! A person who signs in: with a browser, or by hand.

mod visitor;

use std::time::{Duration, Instant};

use super::seen::parameter;
use crate::browser::{Browser, Scheme};

pub use visitor::{visit, visit_and_refuse};

/// How many pages there may be between an authorization address and the way back.
const MAX_PAGES: usize = 8;

/// How long a login with pages may take.
const SIGN_IN_WAIT: Duration = Duration::from_mins(1);

/// Where a login ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// The address at the end: that of the redirect, or of the page that refused.
    pub url: String,
    /// What the page there says.
    pub text: String,
}

impl Landed {
    /// A parameter of the address.
    pub fn parameter(&self, name: &str) -> Option<String> {
        parameter(&self.url, name)
    }
}

/// Signs in at an [`Oidc`](super::Oidc) as any user, and consents.
///
/// Begins at an authorization address and ends where no form is left: at the redirect, whether anybody
/// listens there or not, or at a page of the server that says what is wrong.
///
/// # Panics
/// If there is no browser, or the login does not end.
pub fn sign_in_with_browser(address: &str, user: &str) -> Landed {
    sign_in_with(&Browser::start(900, 700, Scheme::Light), address, user)
}

/// The same in a browser that goes on afterwards; one that signed in before may see no page.
///
/// # Panics
/// If the login does not end.
#[expect(clippy::panic, reason = "a test whose login does not end cannot go on")]
pub fn sign_in_with(browser: &Browser, address: &str, user: &str) -> Landed {
    let deadline = Instant::now() + SIGN_IN_WAIT;
    let back = parameter(address, "redirect_uri");
    browser.try_goto(address);
    for _ in 0..MAX_PAGES {
        assert!(Instant::now() < deadline, "the login takes too long: {}", browser.address());
        let url = browser.address();
        let is_back = back.as_deref().is_some_and(|back| url.starts_with(back));
        if is_back || browser.eval("return !document.querySelector('form button')") == true {
            let text = browser.eval("return document.body?.innerText ?? ''");
            return Landed { url, text: text.as_str().unwrap_or_default().to_owned() };
        }
        // A page that knows nothing of the mark is the next one.
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
