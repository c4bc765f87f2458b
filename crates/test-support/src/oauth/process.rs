//! A server process that prints its URLs on the first line, and its control port.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::RecordedRequest;
use crate::mcp::ServerCommand;
use crate::wait::DEADLINE;

const CONTROL_WAIT: Duration = Duration::from_secs(10);
const EXIT_WAIT: Duration = Duration::from_secs(30);
/// Maximum response size of the control port: all requests of a long test.
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// The process exits when this pipe closes, however the test ends.
    input: Option<ChildStdin>,
    /// Closed when the output is, which is at the end of the process.
    output: Mutex<mpsc::Receiver<String>>,
    addresses: Value,
}

impl Process {
    /// Starts it and waits until it prints its URLs.
    pub(crate) fn start(launch: &ServerCommand) -> Process {
        let line = launch.args.join(" ");
        Self::try_start(launch).unwrap_or_else(|| panic!("`{line}` does not start: run it by hand"))
    }

    fn try_start(launch: &ServerCommand) -> Option<Process> {
        let mut child = launch
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server is installed: run `cargo xtask test` once");
        let input = child.stdin.take();
        let output = child.stdout.take().expect("its output is piped");
        let (said, first_line) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let mut output = BufReader::new(output);
            // An unreadable line has no URL, which is reported below.
            let _ = output.read_line(&mut line);
            let _ = said.send(line);
            // Further output is discarded, but must not block the process.
            let _ = std::io::copy(&mut output, &mut std::io::sink());
        });
        let line = first_line.recv_timeout(DEADLINE).unwrap_or_default();
        let mut process =
            Process { child, input, output: Mutex::new(first_line), addresses: Value::Null };
        process.addresses = serde_json::from_str(&line).ok()?;
        Some(process)
    }

    pub(crate) fn address(&self, name: &str) -> &str {
        self.addresses[name].as_str().unwrap_or_default()
    }

    pub(crate) fn control(&self, action: &str, body: &Value) -> Value {
        let config =
            ureq::Agent::config_builder().timeout_global(Some(CONTROL_WAIT)).proxy(None).build();
        let address = format!("{}/{action}", self.address("control"));
        let answer = ureq::Agent::new_with_config(config).post(&address).send_json(body);
        let read = answer.and_then(|mut answer| {
            answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_json()
        });
        read.unwrap_or_else(|error| panic!("{address}: {error}"))
    }
}

/// An authorization server, and the MCP server that it protects.
#[derive(Debug)]
pub struct AuthServer(pub(super) Process);

impl AuthServer {
    /// The MCP server over Streamable HTTP.
    pub fn mcp_url(&self) -> &str {
        self.0.address("mcp")
    }

    pub fn issuer(&self) -> &str {
        self.0.address("issuer")
    }

    /// All requests so far to any of its servers, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        let seen = self.0.control("seen", &Value::Null);
        serde_json::from_value(seen["requests"].clone()).expect("a list of requests")
    }

    pub fn token_requests(&self) -> Vec<RecordedRequest> {
        let mut requests = self.requests();
        requests.retain(|seen| seen.server != "mcp" && seen.route() == "/token");
        requests
    }

    /// All clients that registered themselves.
    pub fn clients(&self) -> Vec<Value> {
        self.0.control("seen", &Value::Null)["clients"].as_array().cloned().unwrap_or_default()
    }

    /// Removes all clients: the token endpoint answers `invalid_client` with 401.
    pub fn forget_clients(&self) {
        self.0.control("forget_clients", &Value::Null);
    }

    /// Makes all access tokens so far invalid; refresh tokens stay valid.
    pub fn expire_access_tokens(&self) {
        self.0.control("expire_access", &Value::Null);
    }

    /// Removes all tokens and codes.
    pub fn revoke_everything(&self) {
        self.0.control("revoke_all", &Value::Null);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // First in its own way, so that it can end its own processes.
        drop(self.input.take());
        if let Ok(output) = self.output.get_mut() {
            let _ = output.recv_timeout(EXIT_WAIT);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests;
