//! What the page looks like: narrow, light and dark.

use agent_test_support::browser::{Browser, ColorScheme};
use serde_json::Value;

use super::{Served, TOOL_CALLS, agent, fill, heading, long_model, open_store};

#[test]
fn pages_do_not_scroll_sideways_on_a_phone() {
    let agent = agent();
    fill(&agent);
    let served = Served::start(&agent);
    let browser = Browser::start(360, 740, ColorScheme::Light);
    let package = open_store(&agent).packages().unwrap().remove(0).package_id;
    let views = [
        ("Overview".to_owned(), "#/".to_owned()),
        (
            "Tool calls".to_owned(),
            format!("#/kind/{TOOL_CALLS}?outcome=failed&tool_category=terminal"),
        ),
        (
            "Model routes".to_owned(),
            format!("#/kind/agent.model_route.count?model={}", long_model()),
        ),
        ("Packages".to_owned(), "#/packages".to_owned()),
        (String::new(), format!("#/packages/{package}")),
    ];
    for (title, hash) in views {
        browser.goto("about:blank");
        browser.goto(&format!("{}{hash}", served.address));
        if title.is_empty() {
            browser.eventually("the package", "return document.querySelector('#package-text')?.textContent.startsWith('{') ?? false");
        } else {
            heading(&browser, &title);
        }
        browser.eval("document.querySelectorAll('details').forEach((part) => part.open = true)");
        let widths = browser.eval(
            "const page = document.documentElement; return [page.scrollWidth, page.clientWidth, innerWidth]",
        );
        assert_eq!(widths[0], widths[1], "{hash}");
        assert_eq!(widths[2], 360);
    }
}

#[test]
fn light_and_dark_schemes_are_readable() {
    let agent = agent();
    fill(&agent);
    let served = Served::start(&agent);
    let grounds = [ColorScheme::Light, ColorScheme::Dark].map(|scheme| {
        let browser = Browser::start(1280, 900, scheme);
        browser.goto(&served.address);
        heading(&browser, "Overview");
        let seen = browser.eval(CONTRASTS);
        assert_readable(&seen, &["body", ".muted", ".lede", ".figure", ".tabs a", "dt", "main a"]);
        browser.goto(&format!("{}#/kind/{TOOL_CALLS}?outcome=failed", served.address));
        heading(&browser, "Tool calls");
        let seen = browser.eval(CONTRASTS);
        assert_readable(
            &seen,
            &[
                ".chip",
                ".value-share",
                "[aria-pressed=true] .value-share",
                "li.value-row",
                ".choice [aria-pressed=true]",
            ],
        );
        browser.eval("return getComputedStyle(document.body).backgroundColor")
    });
    assert_ne!(grounds[0], grounds[1]);
}

fn assert_readable(seen: &Value, wanted: &[&str]) {
    for selector in wanted {
        let ratio = seen[selector].as_f64().unwrap_or_else(|| panic!("no {selector} in {seen}"));
        assert!(ratio >= 4.5, "{selector} has a contrast of {ratio}");
    }
}

/// The lowest contrast of text to its background, for each selector that finds any.
const CONTRASTS: &str = "
    const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (color) => numbers(color).slice(0, 3)
        .map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = (element) => {
        const color = getComputedStyle(element).backgroundColor;
        return numbers(color)[3] === 0 ? ground(element.parentElement) : color;
    };
    const contrast = (element) => {
        const [low, high] = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const found = {};
    for (const selector of ['body', '.muted', '.lede', '.figure', '.tabs a', 'dt', 'main a', '.chip',
        '.value-share', '[aria-pressed=true] .value-share', 'li.value-row', '.choice [aria-pressed=true]']) {
        const all = [...document.querySelectorAll(selector)].map(contrast);
        if (all.length > 0) found[selector] = Math.min(...all);
    }
    return found;";
