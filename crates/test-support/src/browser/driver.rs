//! The driver's process, and the little of HTTP and `WebDriver` that is needed to talk to it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::processes;

/// How long one command may take.
const ANSWER_WAIT: Duration = Duration::from_secs(60);

/// How long the browser may take to end on its own.
const END_WAIT: Duration = Duration::from_secs(5);

/// What browsers are called.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A driver with one session.
#[derive(Debug)]
pub(super) struct Driver {
    process: Child,
    port: u16,
    session: String,
}

/// Why a command was refused.
#[derive(Debug)]
pub(super) struct Refusal {
    error: String,
    #[expect(dead_code, reason = "shown when a test fails")]
    message: String,
}

impl Refusal {
    /// Whether the same command may succeed in a moment.
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
    /// Starts a driver and, through it, a browser with these arguments.
    #[expect(
        clippy::expect_used,
        clippy::panic,
        reason = "a test without a browser cannot go on"
    )]
    pub(super) fn start(home: &Path, arguments: &[String]) -> Driver {
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
        // From here on the driver is ended whatever happens.
        let mut driver = Driver {
            process,
            port: 0,
            session: String::new(),
        };
        let output = driver.process.stdout.take().expect("its output is piped");
        driver.port = announced_port(output).expect("chromedriver says where it listens");
        let options = json!({ "binary": browser_program(), "args": arguments });
        let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options });
        let body = json!({ "capabilities": { "alwaysMatch": wanted } });
        let begun = driver
            .send("POST", "/session", &body)
            .unwrap_or_else(|refusal| panic!("the browser does not start: {refusal:?}"));
        driver.session = begun["sessionId"]
            .as_str()
            .expect("a session has an id")
            .to_owned();
        driver
    }

    /// Asks for something.
    pub(super) fn get(&self, path: &str) -> Result<Value, Refusal> {
        self.send("GET", &self.in_session(path), &Value::Null)
    }

    /// Tells to do something.
    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, Refusal> {
        self.send("POST", &self.in_session(path), body)
    }

    /// The driver, the browser and all that belongs to it.
    pub(super) fn processes(&self) -> Vec<u32> {
        processes::tree(self.process.id())
    }

    fn in_session(&self, path: &str) -> String {
        format!("/session/{}{path}", self.session)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, Refusal> {
        let refused = |error: &str, message: String| Refusal {
            error: error.to_owned(),
            message,
        };
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
            // A browser that is asked to end does so in order; any other way it is made to.
            let _ = self.send("DELETE", &self.in_session(""), &Value::Null);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        processes::outlive(&started, END_WAIT);
    }
}

/// The port that the driver announces on its output.
fn announced_port(output: impl Read) -> Option<u16> {
    BufReader::new(output)
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| {
            let number = line.rsplit_once("on port ")?.1.trim_end_matches('.');
            number.parse().ok().filter(|port| *port != 0)
        })
        .next()
}

fn browser_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// One request and its answer.
fn exchange(port: u16, method: &str, path: &str, body: &Value) -> io::Result<Value> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(ANSWER_WAIT))?;
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut answer = vec![0; length];
    reader.read_exact(&mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}

/// The bytes that a base64 text stands for; what is no base64 is passed over.
pub(super) fn decode_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for character in text.bytes() {
        let digit = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            let [.., low] = (bits >> held).to_be_bytes();
            bytes.push(low);
        }
    }
    bytes
}
