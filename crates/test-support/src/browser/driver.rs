//! The driver process and the `WebDriver` commands that tests need. It ends process trees, so that no
//! browser is left behind.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::process_tree::{is_running, kill, process_tree};
use crate::wait::holds_within;

const ANSWER_WAIT: Duration = Duration::from_mins(1);
/// Maximum response size: a screenshot of a long page.
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;
/// Timeout for the browser's exit by itself.
const END_WAIT: Duration = Duration::from_secs(5);

/// Chromium without windows: it starts with a quarter of the CPU time.
const PROGRAM: &str = "chromium-headless-shell";

#[derive(Debug)]
pub(super) struct Driver {
    process: Child,
    port: u16,
    session: String,
}

#[derive(Debug)]
pub(super) struct CommandError {
    error: String,
    #[expect(dead_code, reason = "shown when a test fails")]
    message: String,
}

/// Maximum number of attempts to start a driver that listens.
const MAX_STARTS: u32 = 5;

impl CommandError {
    /// Whether a retry of the command may succeed.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self.error.as_str(),
            "no such element"
                | "stale element reference"
                | "element not interactable"
                | "element click intercepted"
        )
    }
}

impl Driver {
    pub(super) fn start(home: &Path, arguments: &[String]) -> Driver {
        let mut starts = (0..MAX_STARTS).map(|_| Self::listening(home));
        let mut driver = starts.find_map(|started| started).expect("chromedriver listens");
        let options = json!({ "binary": browser_program(), "args": arguments });
        let wanted =
            json!({ "browserName": "chrome-headless-shell", "goog:chromeOptions": options });
        let body = json!({ "capabilities": { "alwaysMatch": wanted } });
        let begun = driver
            .send("POST", "/session", &body)
            .unwrap_or_else(|refusal| panic!("the browser does not start: {refusal:?}"));
        let session = begun["sessionId"].as_str().expect("a session has an id");
        session.clone_into(&mut driver.session);
        driver
    }

    /// A driver without a session. It ends at once if another process takes the port that it chose for
    /// IPv4 before it listens there with IPv6 as well.
    fn listening(home: &Path) -> Option<Driver> {
        let process = Command::new("chromedriver")
            .arg("--port=0")
            .env("HOME", home)
            .env("TMPDIR", home)
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed");
        // From here on, dropping ends the driver.
        let mut driver = Driver { process, port: 0, session: String::new() };
        let output = driver.process.stdout.take().expect("its output is piped");
        driver.port = announced_port(output)?;
        Some(driver)
    }

    pub(super) fn get(&self, path: &str) -> Result<Value, CommandError> {
        self.send("GET", &self.in_session(path), &Value::Null)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, CommandError> {
        self.send("POST", &self.in_session(path), body)
    }

    pub(super) fn processes(&self) -> Vec<u32> {
        process_tree(self.process.id())
    }

    fn in_session(&self, path: &str) -> String {
        format!("/session/{}{path}", self.session)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, CommandError> {
        let refused =
            |error: &str, message: String| CommandError { error: error.to_owned(), message };
        let answer = exchange(self.port, method, path, body)
            .map_err(|error| refused("no answer", error.to_string()))?;
        let value = answer["value"].clone();
        match value["error"].as_str() {
            Some(error) => Err(refused(error, value["message"].to_string())),
            None => Ok(value),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let started = self.processes();
        if !self.session.is_empty() {
            // Asks the browser to exit; kills what is left.
            let _ = self.send("DELETE", &self.in_session(""), &Value::Null);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = holds_within(END_WAIT, || !started.iter().any(|id| is_running(*id)));
        started.into_iter().filter(|id| is_running(*id)).for_each(kill);
    }
}

/// The port that the driver prints on its output.
fn announced_port(output: impl Read) -> Option<u16> {
    BufReader::new(output).lines().map_while(Result::ok).find_map(|line| {
        let number = line.rsplit_once("on port ")?.1.trim_end_matches('.');
        number.parse().ok().filter(|port| *port != 0)
    })
}

fn browser_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(PROGRAM))
        .find(|program| program.is_file())
}

/// One request and its response; a refusal is a response too.
fn exchange(port: u16, method: &str, path: &str, body: &Value) -> Result<Value, ureq::Error> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(ANSWER_WAIT))
        .http_status_as_error(false)
        .proxy(None)
        .build();
    let agent = ureq::Agent::new_with_config(config);
    let address = format!("http://127.0.0.1:{port}{path}");
    let mut answer = match method {
        "GET" => agent.get(address).call(),
        "DELETE" => agent.delete(address).call(),
        _ => agent.post(address).send_json(body),
    }?;
    answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_json()
}
