//! Forms in a browser: bad input is refused with the reason, and all of them work with the keyboard
//! alone.

use agent_test_support::browser::{Browser, ColorScheme, key};
use serde_json::json;

use super::{Client, browse, setup};
use crate::support::{ADMIN_TOKEN, PRICE};
use crate::teams::team;

/// A form, what is typed into it, and the refusal.
struct BadInput<'a> {
    page: &'a str,
    /// The button of its dialog; empty if there is none.
    opener: &'a str,
    fields: &'a [(&'a str, &'a str)],
    button: &'a str,
    refusal: &'a str,
}

#[test]
fn invalid_input_is_rejected_with_the_reason() {
    let (_upstream, service, holder) = setup();
    let crew = format!("/operator/teams/{}", team(&service, "crew", PRICE));
    let ada = format!("/operator/members/{}", holder.member);
    let of_key = format!("/operator/keys/{}", holder.key.public_id());
    let operator = browse(&service, ADMIN_TOKEN, 1200, ColorScheme::Light);
    let row =
        |page, opener, fields, button, refusal| BadInput { page, opener, fields, button, refusal };
    for form in [
        row(
            &*ada,
            "",
            &[("amount", "five"), ("reason", "x")],
            "#transfer button",
            "is not an amount",
        ),
        row(&*ada, "", &[("amount", "0"), ("reason", "x")], "#transfer button", "must not be zero"),
        row(
            &*ada,
            "[data-dialog=new-key]",
            &[("key-name", " ")],
            "#new-key .primary",
            "The name must be",
        ),
        row(
            &*ada,
            "[data-dialog=rename]",
            &[("name", "crew")],
            "#rename .primary",
            "already exists",
        ),
        row(&*ada, "", &[("team", "nothing")], "#team-form button", "There is no team “nothing”"),
        row(&*ada, "", &[("budget", "x")], "#budget-form button", "is not an amount"),
        row(&*crew, "", &[("member", "nobody")], "#join button", "There is no member “nobody”"),
        row(
            &*crew,
            "",
            &[("amount", "1.0000001"), ("reason", "x")],
            "#transfer button",
            "is not an amount",
        ),
        row(
            "/operator/teams",
            "[data-dialog=create]",
            &[("name", "ada")],
            "#create .primary",
            "already exists",
        ),
        row(
            "/operator/teams",
            "[data-dialog=create]",
            &[("name", "mem_9")],
            "#create .primary",
            "The name must be",
        ),
        row(&*of_key, "", &[("rate", "0")], "main form button", "Requests per minute must be"),
        row(
            &*of_key,
            "[data-dialog=rotate]",
            &[("overlap", "soon")],
            "#rotate .primary",
            "is not a whole number",
        ),
        row(
            &*of_key,
            "[data-dialog=rotate]",
            &[("overlap", "99999999")],
            "#rotate .primary",
            "must be a whole number",
        ),
    ] {
        check_refusal(&operator, &service.origin(), &form);
    }
    assert_eq!(service.get("/v1/models", holder.key.as_str()).status, 200, "the key is as before");
    assert_eq!(service.account(holder.member).balance.get(), 1000 * PRICE);
    let keys = service.store.clone();
    assert_eq!(service.wait(async move { keys.keys(holder.member).await.unwrap().len() }), 1);
}

/// Fills the form in, sends it, and looks for the refusal.
fn check_refusal(operator: &Browser, origin: &str, form: &BadInput<'_>) {
    operator.goto(&format!("{}{}", origin, form.page));
    if !form.opener.is_empty() {
        operator.click(form.opener);
    }
    for (field, value) in form.fields {
        // A list of choices gets one that no page offers.
        operator.eval(&format!(
            "const field = document.getElementById('{field}'); \
             if (field.options) field.add(new Option('{value}')); field.value = '{value}'; return true"
        ));
    }
    operator.click(form.button);
    operator.eventually("a refusal", "return document.querySelector('#notice') !== null");
    let notice = operator.text("#notice");
    assert!(notice.contains(form.refusal), "{} {:?}: {notice}", form.page, form.fields);
    assert_eq!(operator.eval("return document.querySelector('#notice').role"), "alert");
}

#[test]
fn playground_numbers_are_validated_before_sending() {
    let (upstream, service, holder) = setup();
    let browser = browse(&service, holder.key.as_str(), 1200, ColorScheme::Light);
    browser.goto(&format!("{}/playground?model=up/echo", service.origin()));
    for (field, bad, good) in [
        ("temperature", "1e", "0.5"),
        ("temperature", "-1", "0.5"),
        ("max-tokens", "0", "7"),
        ("max-tokens", "1.5", "7"),
    ] {
        browser.eval("document.querySelector('#prompt').value = 'hello'; return true");
        browser.click(&format!("#{field}"));
        browser.press(bad);
        browser.click("#send");
        let is_valid = format!("return document.querySelector('#{field}').validity.valid");
        assert_eq!(browser.eval(&is_valid), false, "{field}={bad}");
        assert_eq!(browser.eval("return document.querySelectorAll('.said .user').length"), 0);
        browser.eval(&format!("document.querySelector('#{field}').value = '{good}'; return true"));
    }
    assert_eq!(upstream.completions().len(), 0);
    browser.click("#send");
    browser.eventually(
        "an answer",
        "return document.querySelector('.said .assistant')?.textContent === 'hello'",
    );
    let sent = upstream.completions().pop().unwrap().json();
    assert_eq!((&sent["temperature"], &sent["max_tokens"]), (&json!(0.5), &json!(7)));
}

/// Moves the focus forward to an element.
fn tab_to(browser: &Browser, css: &str) {
    let is_there = format!("return document.activeElement?.matches('{css}') ?? false");
    for _ in 0..100 {
        if browser.eval(&is_there) == true {
            return;
        }
        browser.press(key::TAB);
    }
    panic!("{css} cannot be reached: {}", browser.address());
}

#[test]
fn sign_in_chat_and_top_up_work_with_the_keyboard() {
    let (_upstream, service, holder) = setup();
    let sign_in = |secret: &str| {
        let browser = Browser::start(1200, 900, ColorScheme::Light);
        browser.goto(&service.origin());
        tab_to(&browser, "#key");
        browser.press(secret);
        browser.press(key::ENTER);
        browser.eventually("signed in", "return document.querySelector('.account') !== null");
        browser
    };
    let member = sign_in(holder.key.as_str());
    member.goto(&format!("{}/playground?model=up/echo", service.origin()));
    tab_to(&member, "#prompt");
    member.press("hello");
    tab_to(&member, "#send");
    member.press(key::ENTER);
    member.eventually(
        "an answer",
        "return document.querySelector('.said .assistant')?.textContent === 'hello'",
    );
    member.eventually("the focus returns", "return document.activeElement.id === 'prompt'");
    drop(member);
    let operator = sign_in(ADMIN_TOKEN);
    operator.goto(&format!("{}/operator/members/{}", service.origin(), holder.member));
    tab_to(&operator, "#amount");
    operator.press("2");
    tab_to(&operator, "#reason");
    operator.press("invoice 9");
    operator.press(key::ENTER);
    let asked = "return document.querySelector('#transfer').innerText.includes('Balance after')";
    operator.eventually("asked once more", asked);
    tab_to(&operator, "#transfer .primary");
    operator.press(key::SPACE);
    operator.eventually("posted", "return document.body.innerText.includes('is posted')");
    assert_eq!(service.account(holder.member).balance.get(), 999 * PRICE + 2_000_000);
    let page = Client::signed_in(&service, holder.key.as_str()).get("/receipts");
    assert!(page.text().contains("invoice 9"), "{}", page.text());
}
