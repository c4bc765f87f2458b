//! Signing in from the page, at a real authorization server.

use agent_test_support::oauth::{Oidc, OidcOptions, sign_in_with};

use super::*;

#[test]
fn sign_in_starts_on_the_page_and_completes_in_the_browser() {
    let server = Oidc::start(&OidcOptions::default());
    let setup = Setup::new();
    setup.configure(&format!(
        "mcp_servers:\n  docs:\n    url: {}\n    auth: oauth\n",
        server.mcp_url()
    ));
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    let page = format!("{}/sign-ins", dashboard.origin());
    browser.goto(&page);
    press(&browser, "Sign in");
    heading(&browser, "Sign in to docs");
    shows(&browser, "#job", "Continue in the browser");
    let job = browser.address();
    let link = browser.eval("return document.querySelector('#job a.button').href");
    let link = link.as_str().unwrap();
    // The redirect goes to a random port, not to one of the pinned ones.
    let redirect = link.split("redirect_uri=").nth(1).unwrap().split('&').next().unwrap();
    for port in 27890..=27894 {
        assert!(!redirect.contains(&port.to_string()), "{redirect}");
    }
    sign_in_with(&browser, link, "ada");
    browser.goto(&job);
    shows(&browser, "#job .tag", "done");
    browser.goto(&page);
    shows(&browser, "tbody .tag", "signed in");
    press(&browser, "Sign out");
    shows(&browser, "#notice", "You are signed out");
    assert!(!setup.fixture.agent.home().join("mcp-tokens/docs.json").exists());
}
