//! A real browser: headless Chromium, driven by `chromedriver` over the `WebDriver` protocol.
//!
//! Both must be installed. Every browser has a driver, a profile and a home of its own; all of it
//! ends with the value. Chromium is tied to its driver by a pipe, and both stay in the process group
//! of the test, so that nothing outlives a runner that kills the group.

mod driver;
mod processes;

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wait::eventually;
use driver::{Driver, Refusal};

/// Keys that have no character, for [`Browser::press`].
pub mod key {
    /// The tabulator.
    pub const TAB: &str = "\u{e004}";
    /// Enter.
    pub const ENTER: &str = "\u{e007}";
    /// The space bar.
    pub const SPACE: &str = " ";
}

/// Whether the system is light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// A browser with one window.
#[derive(Debug)]
pub struct Browser {
    driver: Driver,
    /// Dropped last: the browser writes to it until its end.
    home: TempDir,
}

impl Browser {
    /// Starts a browser with a window that shows exactly this many pixels.
    ///
    /// # Panics
    /// If there is no Chromium, no `chromedriver`, or they do not work together.
    #[expect(clippy::expect_used, reason = "a test without a browser cannot go on")]
    pub fn start(width: u32, height: u32, scheme: Scheme) -> Browser {
        let home = tempfile::tempdir().expect("a temporary folder");
        let driver = Driver::start(home.path(), &arguments(home.path(), scheme));
        let browser = Browser { driver, home };
        // A window cannot be as narrow as a phone, but what it shows can.
        browser.devtools(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }),
        );
        let is_dark = browser.eval("return matchMedia('(prefers-color-scheme: dark)').matches");
        assert_eq!(is_dark, scheme == Scheme::Dark, "the scheme is taken over");
        browser
    }

    /// The folder in which it keeps everything; gone when the browser is.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Goes to an address and waits until it is loaded.
    ///
    /// # Panics
    /// If it cannot be loaded.
    pub fn goto(&self, address: &str) {
        self.must("/url", &json!({ "url": address }));
    }

    /// Goes to an address at which perhaps nobody answers.
    pub(crate) fn try_goto(&self, address: &str) {
        // A page that says that there is none is a page too.
        let _ = self.driver.post("/url", &json!({ "url": address }));
    }

    /// The address of the page, also of one that could not be loaded.
    ///
    /// # Panics
    /// If the browser refuses.
    #[expect(clippy::expect_used, reason = "tests end when the browser refuses")]
    pub fn address(&self) -> String {
        let address = self.driver.get("/url").expect("a page has an address");
        address.as_str().unwrap_or_default().to_owned()
    }

    /// Goes back in the history.
    ///
    /// # Panics
    /// If the browser refuses.
    pub fn back(&self) {
        self.must("/back", &json!({}));
    }

    /// Loads the page again.
    ///
    /// # Panics
    /// If the browser refuses.
    pub fn reload(&self) {
        self.must("/refresh", &json!({}));
    }

    /// The visible text of the first element that this selector finds, once there is one.
    ///
    /// # Panics
    /// If there is none in time.
    pub fn text(&self, css: &str) -> String {
        let text =
            self.with_element(css, |element| self.driver.get(&format!("/element/{element}/text")));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks on the first element that this selector finds, once it is there and can be clicked.
    ///
    /// # Panics
    /// If there is none in time.
    pub fn click(&self, css: &str) {
        self.with_element(css, |element| {
            let path = format!("/element/{element}/click");
            self.driver.post(&path, &json!({}))
        });
    }

    /// Presses keys one after another, at what has the focus: characters, or those of [`key`].
    ///
    /// # Panics
    /// If the browser refuses.
    pub fn press(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.must("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Runs a script, which may be asynchronous, and gives back what it returns.
    ///
    /// # Panics
    /// If it throws.
    pub fn eval(&self, script: &str) -> Value {
        let script = format!("return (async () => {{ {script} }})()");
        self.must("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until a script returns `true`.
    ///
    /// # Panics
    /// If it does not in time; `what` says what was waited for.
    pub fn eventually(&self, what: &str, script: &str) {
        eventually(what, || self.eval(script) == Value::Bool(true));
    }

    /// Writes what the window shows to a PNG file.
    ///
    /// # Panics
    /// If the file cannot be written.
    #[expect(clippy::expect_used, reason = "a test without its picture cannot go on")]
    pub fn screenshot(&self, path: &Path) {
        let picture = self.driver.get("/screenshot").expect("a picture");
        let bytes = BASE64_STANDARD
            .decode(picture.as_str().unwrap_or_default())
            .expect("a screenshot is base64");
        std::fs::write(path, bytes).expect("the file can be written");
    }

    fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.must("/goog/cdp/execute", &body)
    }

    #[expect(clippy::panic, reason = "tests end when the browser refuses")]
    fn must(&self, path: &str, body: &Value) -> Value {
        self.driver.post(path, body).unwrap_or_else(|refusal| panic!("{path} {body}: {refusal:?}"))
    }

    /// Does something with an element; a page that is just being drawn gets another chance.
    #[expect(clippy::panic, reason = "tests end when an element does not turn up")]
    fn with_element(&self, css: &str, act: impl Fn(&str) -> Result<Value, Refusal>) -> Value {
        let mut done = None;
        eventually(css, || match self.element(css).and_then(|element| act(&element)) {
            Ok(value) => {
                done = Some(value);
                true
            }
            Err(refusal) if refusal.may_pass() => false,
            Err(refusal) => panic!("{css}: {refusal:?}"),
        });
        done.unwrap_or_default()
    }

    fn element(&self, css: &str) -> Result<String, Refusal> {
        let search = json!({ "using": "css selector", "value": css });
        let found = self.driver.post("/element", &search)?;
        let reference = found.as_object().and_then(|found| found.values().next());
        Ok(reference.and_then(Value::as_str).unwrap_or_default().to_owned())
    }
}

fn arguments(home: &Path, scheme: Scheme) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless=new",
        // Tests run as root, in containers.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-breakpad",
        "--disable-crash-reporter",
        "--remote-debugging-pipe",
        // Pages of others name fonts of others; no test leaves the machine.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE [::1], EXCLUDE localhost",
    ]
    .map(str::to_owned)
    .into();
    arguments.push(format!("--user-data-dir={}", home.join("profile").display()));
    if scheme == Scheme::Dark {
        arguments.push("--force-dark-mode".to_owned());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_runs_a_page_and_leaves_nothing_behind() {
        let browser = Browser::start(360, 740, Scheme::Dark);
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
        assert_eq!(processes::running_among(&started), Vec::<u32>::new());
    }
}
