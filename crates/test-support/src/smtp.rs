//! An SMTP server that stores received messages.

use std::path::Path;

use serde_json::Value;

use crate::mcp::installed::{python_of, script};
use crate::oauth::Process;

#[derive(Debug)]
pub struct Smtp {
    process: Process,
}

impl Smtp {
    /// The user and the password of a server that encrypts.
    pub const USER: (&str, &str) = ("gateway", "correct horse");

    /// A server without encryption and authentication.
    pub fn start() -> Self {
        Self { process: Process::start(&python_of("smtp", &[&script("smtp.py")])) }
    }

    /// A server that requires STARTTLS and a user.
    pub fn start_encrypted(certificate: &Path, key: &Path) -> Self {
        let mut launch = python_of("smtp", &[&script("smtp.py")]);
        for (name, path) in [("SMTP_CERTIFICATE", certificate), ("SMTP_KEY", key)] {
            launch.env.push((name.to_owned(), path.to_string_lossy().into_owned()));
        }
        Self { process: Process::start(&launch) }
    }

    pub fn port(&self) -> &str {
        self.process.address("smtp").rsplit(':').next().unwrap_or_default()
    }

    /// All messages so far: `from`, `to`, `text`, `encrypted`.
    pub fn messages(&self) -> Vec<Value> {
        let answer = self.process.control("messages", &Value::Null);
        answer["messages"].as_array().cloned().unwrap_or_default()
    }
}
