//! Tests of `browser`.

use super::*;

#[test]
fn browser_runs_a_page_and_cleans_up() {
    let browser = Browser::start(360, 740, ColorScheme::Dark);
    browser.goto("data:text/html,<button onclick='this.textContent=2'>1</button>");
    assert_eq!(browser.eval("return [innerWidth, innerHeight]"), json!([360, 740]));
    browser.press(&[key::TAB, key::ENTER].concat());
    browser.eventually("pressed", "return document.activeElement.textContent === '2'");
    browser.click("button");
    assert_eq!(browser.text("button"), "2");
    let picture = browser.home().with_extension("png");
    browser.screenshot(&picture);
    let bytes = std::fs::read(&picture).unwrap();
    std::fs::remove_file(&picture).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.ends_with(b"IEND\xae\x42\x60\x82"));

    let home = browser.home().to_owned();
    let started = browser.driver.processes();
    assert!(started.len() > 2, "the driver and the browser run: {started:?}");
    drop(browser);
    assert!(!home.exists());
    assert!(!started.into_iter().any(crate::process_tree::is_running));
}
