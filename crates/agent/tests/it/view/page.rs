//! What the page shows and how it is used.

use agent_test_support::browser::{Browser, ColorScheme, key};
use serde_json::json;
use usage_metrics::clock::{Clock, SystemClock};

use super::{
    Served, TOOL_CALLS, add, agent, counter, fill, folder, heading, open_store, overview, total,
};

#[test]
fn every_kind_shows_its_total_and_breakdown() {
    let agent = agent();
    fill(&agent);
    let (_served, browser) = overview(&agent);
    let shown = browser.eval(
        "return Object.fromEntries([...document.querySelectorAll('.card')].map((card) =>
            [card.querySelector('h3').innerText, card.querySelector('.figure').innerText]))",
    );
    let expected = json!({
        "Days in use": "3", "Model calls": "8", "Model routes": "9", "Tasks started": "5",
        "Tasks finished": "7", "Tool calls": "1,235", "Approval answers": "3",
        "Skill changes": "2", "Skills loaded": "6",
    });
    assert_eq!(shown, expected);
    let heard = browser.eval(&format!(
        "return document.querySelector('[data-kind=\"{TOOL_CALLS}\"] [role=img]').ariaLabel"
    ));
    let heard = heard.as_str().unwrap();
    assert!(
        heard.starts_with("Tool calls per day: 1,235 in the last 30 days, at most 1,000 ("),
        "{heard}"
    );
    let rows =
        browser.eval("return document.querySelectorAll('.card:first-child tbody tr').length");
    assert_eq!(rows, 30);

    browser.click(&format!("[data-kind='{TOOL_CALLS}'] a"));
    heading(&browser, "Tool calls");
    total(&browser, "1,235");
    let value = |dimension: &str, value: &str| {
        let row = format!("[data-dimension={dimension}] [data-value='{value}']");
        (browser.text(&format!("{row} .value-count")), browser.text(&format!("{row} .value-share")))
    };
    let pair = |count: &str, share: &str| (count.to_owned(), share.to_owned());
    assert_eq!(value("outcome", "success"), pair("1,001", "81%"));
    assert_eq!(value("outcome", "failed"), pair("234", "19%"));
    assert_eq!(value("tool_category", "web"), pair("1", "<1%"));
    assert_eq!(
        browser.text("[data-dimension=latency_bucket] [data-value='1s_to_2s'] .value-name"),
        "1 s to 2 s"
    );

    browser.click("[data-dimension=outcome] [data-value=failed] button");
    total(&browser, "234");
    assert_eq!(browser.text(".chip"), "Outcome: failed×");
    assert_eq!(value("tool_category", "terminal"), pair("204", "87%"));
    assert_eq!(
        value("outcome", "success"),
        pair("1,001", "81%"),
        "one can still change one's mind"
    );
    browser.click("[data-dimension=tool_category] [data-value=file] button");
    total(&browser, "30");
    browser.reload();
    total(&browser, "30");
    browser.click("[data-focus='chip:outcome']");
    total(&browser, "1,030");
    browser.click("[data-focus='days:7']");
    total(&browser, "30");

    for figure in ["1,030", "30", "234", "1,235"] {
        browser.back();
        total(&browser, figure);
    }
    browser.back();
    heading(&browser, "Overview");
}

#[test]
fn pages_can_be_used_with_the_keyboard() {
    let agent = agent();
    fill(&agent);
    let (_served, browser) = overview(&agent);
    let tab_to = |focus: &str| {
        for _ in 0..60 {
            browser.press(key::TAB);
            if browser.eval("return document.activeElement.dataset.focus ?? ''") == focus {
                return;
            }
        }
        panic!("no way to {focus} by Tab");
    };
    let outline = |part: &str| {
        browser.eval(&format!(
            "const style = getComputedStyle(document.activeElement{part});
             return style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2"
        ))
    };
    let card = format!("kind:{TOOL_CALLS}");
    tab_to(&card);
    assert_eq!(outline(", '::after'"), true, "the focus is drawn around the card");
    browser.press(key::ENTER);
    heading(&browser, "Tool calls");
    assert_eq!(browser.eval("return document.activeElement.id"), "view-title");
    tab_to("value:outcome:failed");
    assert_eq!(outline(""), true);
    browser.press(key::SPACE);
    total(&browser, "234");
    let pressed = "return document.activeElement.getAttribute('aria-pressed') === 'true'";
    browser.eventually("the focus stays where it was", pressed);
    browser.back();
    browser.back();
    heading(&browser, "Overview");
    let back = format!("return document.activeElement.dataset.focus === '{card}'");
    browser.eventually("the focus is back on the card", &back);
    browser.press(key::SPACE);
    heading(&browser, "Tool calls");
}

#[test]
fn long_lists_are_collapsed_initially() {
    let agent = agent();
    let mut store = open_store(&agent);
    let now = SystemClock.now();
    let routes = (1..=13).map(|at| {
        let dimensions = json!({ "model": format!("model-{at:02}"), "provider": "ollama" });
        (counter("agent.model_route.count", &dimensions), 100 - at)
    });
    let routes: Vec<_> = routes.collect();
    add(&mut store, now.minus_days(100), vec![routes[0].clone()]);
    add(&mut store, now, routes);
    let served = Served::start(&agent);
    let browser = Browser::start(1280, 900, ColorScheme::Light);
    let address = format!("{}#/kind/agent.model_route.count?days=all", served.address);
    browser.goto(&address);
    total(&browser, "1,308");
    // More than a hundred days are too many for bars of a day each.
    assert_eq!(browser.text(".numbers summary"), "Numbers per 7 days");
    let heard = browser.eval("return document.querySelector('.chart').ariaLabel");
    let heard = heard.as_str().unwrap();
    assert!(heard.starts_with("Model routes per 7 days: 1,308 from "), "{heard}");

    let visible = |count: usize| {
        let rows = "document.querySelectorAll('[data-dimension=model] li:not([hidden])')";
        browser.eventually("rows", &format!("return {rows}.length === {count}"));
    };
    visible(8);
    browser.click("[data-dimension=model] .more");
    visible(13);
    let focused = browser.eval("return document.activeElement.dataset.focus");
    assert_eq!(focused, "value:model:model-09");
    browser.press(key::ENTER);
    total(&browser, "91");
    visible(13);
    let kept = "return document.activeElement.dataset.focus === 'value:model:model-09'";
    browser.eventually("what is chosen is seen and keeps the focus", kept);
}

#[test]
fn a_package_is_shown_with_its_exact_bytes() {
    let agent = agent();
    fill(&agent);
    let served = Served::start(&agent);
    let browser = Browser::start(1280, 900, ColorScheme::Light);
    browser.goto(&served.address);
    browser.click("#to-packages");
    heading(&browser, "Packages");
    let states = browser.eval(
        "return [...document.querySelectorAll('table.packages tbody tr')].map((row) =>
            [row.children[1].innerText, row.children[2].innerText])",
    );
    let expected = json!([["Next", "1"], ["Next", "6"], ["Created", "6"], ["Created", "2"]]);
    assert_eq!(states, expected);

    let package = open_store(&agent).packages().unwrap().remove(0);
    browser.click(&format!("[data-focus='package:{}']", package.package_id));
    let shown =
        "return document.querySelector('#package-text')?.textContent.startsWith('{') ?? false";
    browser.eventually("the package is shown", shown);
    let text = browser.eval("return document.querySelector('#package-text').textContent");
    assert_eq!(text.as_str().unwrap().as_bytes(), package.bytes);
    let file = browser.eval("return document.querySelector('.bar-above a').getAttribute('href')");
    assert_eq!(file, format!("packages/{}.json", package.package_id));
    browser.click("#copy");
    let told = "return document.querySelector('.bar-above [role=status]').textContent !== ''";
    browser.eventually("the copy is reported", told);
    browser.back();
    heading(&browser, "Packages");
}

#[test]
fn an_empty_store_shows_a_hint() {
    let agent = agent();
    drop(open_store(&agent));
    let served = Served::start(&agent);
    let browser = Browser::start(1280, 900, ColorScheme::Light);
    browser.goto(&served.address);
    heading(&browser, "Nothing has been counted yet");
    assert!(browser.text("#empty").contains("agent metrics on turns recording on"));
    browser.click("#to-packages");
    heading(&browser, "Packages");
    assert!(browser.text("main").contains("No packages yet"));
    browser.click("#to-overview");

    fill(&agent);
    browser.click("#read-again");
    heading(&browser, "Overview");
}

#[test]
fn an_unreadable_store_shows_an_error() {
    let agent = agent();
    fill(&agent);
    let (served, browser) = overview(&agent);

    let folder = folder(&agent);
    for companion in ["-wal", "-shm"] {
        let name = format!("{}{companion}", folder.database().display());
        let _ = std::fs::remove_file(name);
    }
    std::fs::write(folder.database(), "no database, but long enough to look like one".repeat(100))
        .unwrap();
    browser.click("#read-again");
    heading(&browser, "Cannot show the metrics");
    let told = browser.text("#trouble");
    assert!(told.contains("the store is corrupt"), "{told}");

    folder.purge().unwrap();
    browser.click("#trouble button");
    let gone = "return document.querySelector('#trouble')?.innerText.includes('directory no longer exists') ?? false";
    browser.eventually("the folder is gone", gone);

    fill(&agent);
    browser.click("#trouble button");
    heading(&browser, "Overview");

    let (code, _) = served.end("-TERM");
    assert_eq!(code, Some(0));
    browser.click("#read-again");
    heading(&browser, "Cannot show the metrics");
    let told = browser.text("#trouble");
    assert!(told.contains("The program that serves this page has stopped."), "{told}");
}
