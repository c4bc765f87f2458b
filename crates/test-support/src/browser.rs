//! Headless Chromium, driven by `chromedriver` over the `WebDriver` protocol.
//!
//! Both must be installed. Every browser has its own driver, profile and home directory, all
//! removed with the value. Chromium is tied to its driver by a pipe, and both stay in the process
//! group of the test, so a runner that kills the group leaves nothing behind.

mod driver;

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp::installed::installed;
use crate::wait::eventually;
use driver::{CommandError, Driver};

/// Keys without a character, for [`Browser::press`].
pub mod key {
    pub const TAB: &str = "\u{e004}";
    pub const ENTER: &str = "\u{e007}";
    pub const SPACE: &str = " ";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorScheme {
    Light,
    Dark,
}

#[derive(Debug)]
pub struct Browser {
    driver: Driver,
    /// Dropped last: the browser writes to it until it exits.
    home: TempDir,
}

impl Browser {
    /// Starts a browser whose viewport has exactly this size in pixels.
    pub fn start(width: u32, height: u32, scheme: ColorScheme) -> Browser {
        let home = tempfile::tempdir().expect("a temporary folder");
        let driver = Driver::start(home.path(), &arguments(home.path(), scheme));
        let browser = Browser { driver, home };
        // A window cannot be as narrow as a phone, but its viewport can.
        let viewport =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": viewport });
        browser.must("/goog/cdp/execute", &command);
        let is_dark = browser.eval("return matchMedia('(prefers-color-scheme: dark)').matches");
        assert_eq!(is_dark, scheme == ColorScheme::Dark, "the scheme is taken over");
        browser
    }

    /// Directory of everything the browser keeps; removed with the browser.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn goto(&self, address: &str) {
        self.must("/url", &json!({ "url": address }));
    }

    /// Opens a URL where perhaps no server listens.
    pub(crate) fn try_goto(&self, address: &str) {
        // Chromium then shows its own error page.
        let _ = self.driver.post("/url", &json!({ "url": address }));
    }

    /// The URL of the page, also of one that could not be loaded.
    pub fn address(&self) -> String {
        let address = self.driver.get("/url").expect("a page has an address");
        address.as_str().unwrap_or_default().to_owned()
    }

    pub fn back(&self) {
        self.must("/back", &json!({}));
    }

    pub fn reload(&self) {
        self.must("/refresh", &json!({}));
    }

    /// Waits for the first element that this selector matches and returns its visible text.
    pub fn text(&self, css: &str) -> String {
        let text =
            self.with_element(css, |element| self.driver.get(&format!("/element/{element}/text")));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks the first element that this selector matches, once it exists and can be clicked.
    pub fn click(&self, css: &str) {
        self.with_element(css, |element| {
            let path = format!("/element/{element}/click");
            self.driver.post(&path, &json!({}))
        });
    }

    /// Presses keys one after another at the focused element: characters, or those of [`key`].
    pub fn press(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.must("/actions", &json!({ "actions": [keyboard] }));
    }

    pub fn eval(&self, script: &str) -> Value {
        let script = format!("return (async () => {{ {script} }})()");
        self.must("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    pub fn eventually(&self, what: &str, script: &str) {
        eventually(what, || self.eval(script) == Value::Bool(true));
    }

    /// Accessibility problems of the page, found by axe-core.
    pub fn accessibility_findings(&self) -> Vec<String> {
        let path = installed("axe", "node_modules/axe-core/axe.min.js");
        let program = std::fs::read_to_string(path).expect("axe-core can be read");
        let run = "const { violations } = await axe.run(); \
                   return violations.map((it) => `${it.id}: ${it.help}: ` \
                   + it.nodes.map((node) => node.html + node.failureSummary).join(' | '));";
        let found = self.eval(&format!("{program};\n{run}"));
        serde_json::from_value(found).expect("axe-core returns a list")
    }

    /// The addresses of the frames in the page.
    pub fn frames(&self) -> Vec<String> {
        let command = json!({ "cmd": "Page.getFrameTree", "params": {} });
        let page = self.must("/goog/cdp/execute", &command);
        let frames = page["frameTree"]["childFrames"].as_array().into_iter().flatten();
        frames.map(|frame| frame["frame"]["url"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub fn screenshot(&self, path: &Path) {
        let picture = self.driver.get("/screenshot").expect("a picture");
        let bytes = BASE64_STANDARD
            .decode(picture.as_str().unwrap_or_default())
            .expect("a screenshot is base64");
        std::fs::write(path, bytes).expect("the file can be written");
    }

    fn must(&self, path: &str, body: &Value) -> Value {
        self.driver.post(path, body).unwrap_or_else(|refusal| panic!("{path} {body}: {refusal:?}"))
    }

    /// Runs a command on an element, and retries while the page is being drawn.
    fn with_element(&self, css: &str, act: impl Fn(&str) -> Result<Value, CommandError>) -> Value {
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

    fn element(&self, css: &str) -> Result<String, CommandError> {
        let search = json!({ "using": "css selector", "value": css });
        let found = self.driver.post("/element", &search)?;
        let reference = found.as_object().and_then(|found| found.values().next());
        Ok(reference.and_then(Value::as_str).unwrap_or_default().to_owned())
    }
}

fn arguments(home: &Path, scheme: ColorScheme) -> Vec<String> {
    let mut arguments: Vec<String> = [
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
        // Third-party pages name remote fonts; no test leaves the machine.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE [::1], EXCLUDE localhost",
    ]
    .map(str::to_owned)
    .into();
    arguments.push(format!("--user-data-dir={}", home.join("profile").display()));
    let scheme = match scheme {
        ColorScheme::Dark => 0,
        ColorScheme::Light => 1,
    };
    arguments.push(format!("--blink-settings=preferredColorScheme={scheme}"));
    arguments
}

#[cfg(test)]
mod tests;
