//! The servers of the official SDKs, started on a free loopback port.
//!
//! They stay in the process group of the test, so a runner that kills the group ends them too.

use std::net::TcpStream;
use std::process::{Child, Stdio};

use super::installed::{ServerCommand, node, python};
use crate::port;
use crate::wait::{DEADLINE, holds_within};

/// Attempts to start: another process may take the port between choice and start.
const MAX_STARTS: u32 = 3;

#[derive(Debug)]
pub struct HttpPeer {
    pub url: String,
    pub(super) process: Child,
}

/// [`everything_stdio`](super::everything_stdio) over Streamable HTTP: sessions, event streams that
/// can be resumed, and 400 for an unknown session.
pub fn everything_streamable() -> HttpPeer {
    HttpPeer::start("/mcp", |port| {
        node("server-everything", &["streamableHttp"], &[("PORT", &port.to_string())])
    })
}

/// [`everything_stdio`](super::everything_stdio) over the SSE transport of 2024-11-05.
pub fn everything_sse() -> HttpPeer {
    HttpPeer::start("/sse", |port| {
        node("server-everything", &["sse"], &[("PORT", &port.to_string())])
    })
}

/// [`python_stdio`](super::python_stdio) over Streamable HTTP, with both protocol generations.
pub fn python_streamable() -> HttpPeer {
    HttpPeer::start("/mcp", |port| python(&["streamable", &port.to_string()]))
}

/// [`python_stdio`](super::python_stdio) over the SSE transport of 2024-11-05.
pub fn python_sse() -> HttpPeer {
    HttpPeer::start("/sse", |port| python(&["sse", &port.to_string()]))
}

impl HttpPeer {
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Starts it and waits until its port accepts connections.
    fn start(path: &str, launch: impl Fn(u16) -> ServerCommand) -> HttpPeer {
        for _ in 0..MAX_STARTS {
            let port = port::free().port();
            let process = spawn(&launch(port));
            // By number: `localhost` may be another interface.
            let mut peer = HttpPeer { url: format!("http://127.0.0.1:{port}{path}"), process };
            if peer.answers(port) {
                return peer;
            }
        }
        panic!(
            "the server does not start: run it by hand to see whether its installation is complete"
        );
    }

    fn answers(&mut self, port: u16) -> bool {
        // Without a listener, a connection may by chance connect to itself.
        let is_other = |stream: TcpStream| stream.local_addr().ok() != stream.peer_addr().ok();
        let mut has_exited = false;
        let is_settled = holds_within(DEADLINE, || {
            has_exited = !matches!(self.process.try_wait(), Ok(None));
            has_exited || TcpStream::connect(("127.0.0.1", port)).is_ok_and(is_other)
        });
        is_settled && !has_exited
    }
}

impl Drop for HttpPeer {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(launch: &ServerCommand) -> Child {
    launch
        .command()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server is installed: run `cargo xtask test` once")
}

#[cfg(test)]
mod tests;
