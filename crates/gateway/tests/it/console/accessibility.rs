//! Every page in light and dark, wide and narrow: accessible, nothing from elsewhere, no sideways
//! scrolling, no violation of the content security policy.

use agent_test_support::browser::{Browser, ColorScheme};
use agent_test_support::upstream::Upstream;
use serde_json::json;

use super::{browse, setup};
use crate::media;
use crate::support::{ADMIN_TOKEN, PRICE};
use crate::teams::{change, team};

const MEMBER: &[&str] = &[
    "/", "/usage", "/receipts", "/keys", "/keys/new", "/models", "/playground", "/research",
    "/media", "/connect", "/sessions", "/receipts/none", "/docs",
];
const OPERATOR: &[&str] = &[
    "/operator", "/operator/members", "/operator/members/mem_1", "/operator/teams",
    "/operator/keys", "/operator/usage?by=team", "/operator/usage", "/operator/ledger",
    "/operator/audit", "/operator/alerts", "/operator/providers", "/operator/prices",
    "/operator/configuration",
];

#[test]
fn every_page_of_members_is_accessible_wide_and_dark() {
    look(Side::Member, 1280, ColorScheme::Dark);
}

#[test]
fn every_page_of_members_is_accessible_on_a_phone() {
    look(Side::Member, 360, ColorScheme::Light);
}

#[test]
fn every_page_of_operators_is_accessible_wide() {
    look(Side::Operator, 1280, ColorScheme::Light);
}

#[test]
fn every_page_of_operators_is_accessible_on_a_dark_phone() {
    look(Side::Operator, 360, ColorScheme::Dark);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Member,
    Operator,
}

fn look(side: Side, width: u32, scheme: ColorScheme) {
    let (_upstream, service, holder) = setup();
    let chat = json!({"model": "up/echo", "messages": [{"role": "user", "content": "hi"}]});
    let charged = service.post("/v1/chat/completions", holder.key.as_str(), &chat);
    let receipt = format!("/receipts/{}", charged.header("x-receipt-id"));
    // On a phone the member is the manager of a team.
    let crew = team(&service, "crew", 10 * PRICE);
    let has_team = width < 500;
    if has_team {
        change(&service, &holder, &json!({ "team": crew })).good();
        change(&service, &holder, &json!({ "role": "manager" })).good();
        assert_eq!(service.post("/v1/chat/completions", holder.key.as_str(), &chat).status, 200);
    }
    let browser = Browser::start(width, 900, scheme);
    browser.goto(&service.origin());
    check(&browser, "sign-in");
    drop(browser);
    let secret = if side == Side::Member { holder.key.as_str() } else { ADMIN_TOKEN };
    let browser = browse(&service, secret, width, scheme);
    let mut paths: Vec<String> = if side == Side::Member { MEMBER } else { OPERATOR }
        .iter()
        .map(|&it| it.to_owned())
        .collect();
    if side == Side::Member {
        paths.push(format!("/keys/{}", holder.key.public_id()));
        paths.push(receipt);
        if has_team {
            let of_member = format!("/team/members/{}", holder.member);
            paths.extend(["/team".to_owned(), "/team/usage".to_owned(), of_member]);
        }
    } else {
        paths.push(format!("/operator/teams/{crew}"));
        paths.push(format!("/operator/keys/{}", holder.key.public_id()));
    }
    for path in paths {
        browser.goto(&format!("{}{path}", service.origin()));
        check(&browser, &path);
    }
    // Menus and dialogs are pages of their own to the eye.
    if width < 500 {
        browser.click(".menu summary");
        check(&browser, "the menu");
    }
    if side == Side::Member {
        browser.goto(&format!("{}/keys/{}", service.origin(), holder.key.public_id()));
        browser.click("[data-dialog=revoke]");
        check(&browser, "a dialog");
        browser.goto(&format!("{}/keys/new", service.origin()));
        browser.click("#name");
        browser.press("laptop");
        browser.click("main form button");
        browser.eventually("a key", "return document.querySelector('#secret') !== null");
        check(&browser, "the secret of a key");
    } else {
        browser.goto(&format!("{}/operator/members/{}", service.origin(), holder.member));
        browser.click("#amount");
        browser.press("1");
        browser.click("#reason");
        browser.press("invoice 7");
        browser.click("#transfer button");
        browser.eventually("asked", "return document.querySelector('[name=confirmed]') !== null");
        check(&browser, "a payment to confirm");
    }
}

#[test]
fn generated_media_are_accessible() {
    let upstream = Upstream::start();
    let (service, holder) = media::service(&upstream);
    media::run(&service, &holder, &media::paint("a lighthouse")).good();
    media::run(&service, &holder, &media::speak("hello")).good();
    for (width, scheme) in [(1280, ColorScheme::Dark), (360, ColorScheme::Light)] {
        let browser = browse(&service, holder.key.as_str(), width, scheme);
        browser.goto(&format!("{}/media", service.origin()));
        assert_eq!(browser.eval("return document.querySelectorAll('.made').length"), 2);
        check(&browser, "media");
    }
}

#[track_caller]
fn check(browser: &Browser, what: &str) {
    assert_eq!(browser.accessibility_findings(), Vec::<String>::new(), "{what}");
    let page = "document.documentElement";
    let is_narrow = browser.eval(&format!("return {page}.scrollWidth <= {page}.clientWidth"));
    assert_eq!(is_narrow, true, "{what} scrolls sideways");
    let foreign = "return performance.getEntriesByType('resource').map((it) => it.name) \
                   .filter((it) => !it.startsWith(location.origin))";
    assert_eq!(browser.eval(foreign), json!([]), "{what} loads something from elsewhere");
    let inline = "return document.querySelectorAll('[style], style, script:not([src])').length";
    assert_eq!(browser.eval(inline), 0, "{what} has inline styles or scripts");
}
