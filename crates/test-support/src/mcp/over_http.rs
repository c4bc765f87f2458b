//! The servers of the official SDKs, started on a free port of the loopback interface.
//!
//! They stay in the process group of the test, so that none outlives a runner that kills the group.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::installed::{Launch, node, python};
use crate::port;
use crate::wait::DEADLINE;

/// How often a server is started: its port may be taken between the choice and the start.
const MAX_STARTS: u32 = 3;

/// How often it is asked whether it answers.
const POLL: Duration = Duration::from_millis(20);

/// A server that runs until this value is dropped.
#[derive(Debug)]
pub struct HttpPeer {
    /// The address a client connects to.
    pub url: String,
    pub(super) process: Child,
}

/// [`everything_stdio`](super::everything_stdio) over Streamable HTTP: sessions, event streams that
/// can be resumed, and 400 for an unknown session.
///
/// # Panics
/// If it is not installed or does not start.
pub fn everything_streamable() -> HttpPeer {
    HttpPeer::start("/mcp", |port| {
        node("server-everything", &["streamableHttp"], &[("PORT", &port.to_string())])
    })
}

/// [`everything_stdio`](super::everything_stdio) over the SSE transport of 2024-11-05.
///
/// # Panics
/// If it is not installed or does not start.
pub fn everything_sse() -> HttpPeer {
    HttpPeer::start("/sse", |port| {
        node("server-everything", &["sse"], &[("PORT", &port.to_string())])
    })
}

/// [`python_stdio`](super::python_stdio) over Streamable HTTP, in both eras.
///
/// # Panics
/// If it is not installed or does not start.
pub fn python_streamable() -> HttpPeer {
    HttpPeer::start("/mcp", |port| python(&["streamable", &port.to_string()]))
}

/// [`python_stdio`](super::python_stdio) over the SSE transport of 2024-11-05.
///
/// # Panics
/// If it is not installed or does not start.
pub fn python_sse() -> HttpPeer {
    HttpPeer::start("/sse", |port| python(&["sse", &port.to_string()]))
}

impl HttpPeer {
    /// The id of its process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Starts it and waits until its port answers.
    #[expect(clippy::panic, reason = "a test without its peer cannot go on")]
    fn start(path: &str, launch: impl Fn(u16) -> Launch) -> HttpPeer {
        for _ in 0..MAX_STARTS {
            let port = port::free().port();
            let process = spawn(&launch(port));
            // The address by number: `localhost` may be another interface.
            let mut peer = HttpPeer { url: format!("http://127.0.0.1:{port}{path}"), process };
            if peer.answers(port) {
                return peer;
            }
        }
        panic!("the server does not start: run it by hand, and look whether it is installed whole");
    }

    fn answers(&mut self, port: u16) -> bool {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if matches!(self.process.try_wait(), Ok(Some(_)) | Err(_)) {
                return false;
            }
            // Where nobody listens, a connection may by chance find itself.
            let is_other = |stream: TcpStream| stream.local_addr().ok() != stream.peer_addr().ok();
            if TcpStream::connect(("127.0.0.1", port)).is_ok_and(is_other) {
                return true;
            }
            std::thread::sleep(POLL);
        }
        false
    }
}

impl Drop for HttpPeer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[expect(clippy::expect_used, reason = "a test without its peer cannot go on")]
fn spawn(launch: &Launch) -> Child {
    Command::new(&launch.command)
        .args(&launch.args)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server is installed: run `cargo xtask test` once")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(url: &str) -> bool {
        let address = url.trim_start_matches("http://").split('/').next().unwrap();
        TcpStream::connect(address).is_ok()
    }

    /// Not whether its port is free: by then it may be somebody else's.
    fn runs(id: u32) -> bool {
        Command::new("kill").args(["-0", &id.to_string()]).status().unwrap().success()
    }

    #[test]
    fn every_peer_answers_until_it_is_dropped() {
        for start in [everything_streamable, everything_sse, python_streamable, python_sse] {
            let peer = start();
            let (url, id) = (peer.url.clone(), peer.process_id());
            assert!(answers(&url) && runs(id), "{url}");
            drop(peer);
            assert!(!runs(id), "{url}");
        }
    }

    #[test]
    fn a_server_that_ends_at_once_is_not_taken_for_one_that_answers() {
        let launch = Launch { command: "false".into(), args: Vec::new(), env: Vec::new() };
        let mut peer = HttpPeer { url: String::new(), process: spawn(&launch) };
        assert!(!peer.answers(port::free().port()));
    }
}
