//! Tests of `advice`.

use super::*;
use mcp_client::config::{StdioEndpoint, Text};

fn local() -> ServerEntry {
    ServerEntry::new("files", Endpoint::Stdio(StdioEndpoint::new("npx")))
}

#[test]
fn missing_program_advice_names_its_installer() {
    let error = |command: &str| Error::MissingExecutable {
        command: command.to_owned(),
        searched: String::new(),
    };
    assert!(advice(&error("npx"), &local(), None)[0].contains("Node.js"));
    assert!(advice(&error("uvx"), &local(), None)[0].contains("install uv"));
    assert!(advice(&error("/opt/x/uvx"), &local(), None)[0].contains("correct `command`"));
    assert_eq!(advice(&error("my-server"), &local(), None).len(), 1);
}

#[test]
fn timeout_advice_names_the_exceeded_limit() {
    let of = |method: &str, seconds| {
        let idle = Duration::from_secs(seconds);
        advice(&Error::CallTimeout { method: method.to_owned(), idle }, &local(), None).remove(0)
    };
    assert!(of("tools/call", 300).contains("`timeout` of files (now 300 s)"));
    assert!(of("tools/call", 7).contains("set --timeout to more than 7 seconds"));
    assert!(of("tools/list", 60).contains("`connect_timeout` of files (now 60 s)"));
    assert!(of("ping", 60).contains("a separate timeout"));
}

#[test]
fn a_command_line_can_be_pasted_and_shows_no_secret() {
    let mut stdio = StdioEndpoint::new("run");
    stdio.args = ["a b", "it's", "--key=ghp_0123456789abcdef", "x;y", ""].map(Text::literal).into();
    let line = command_line(&ServerEntry::new("x", Endpoint::Stdio(stdio)));
    assert_eq!(line, r"run 'a b' 'it'\''s' --key=[redacted] 'x;y' ''");
}

#[test]
fn unknown_issuer_advice_names_ssl_verify() {
    let error = Error::Tls {
        url: "https://x".to_owned(),
        reason: "invalid peer certificate: UnknownIssuer".to_owned(),
    };
    assert!(advice(&error, &local(), None)[0].contains("ssl_verify"));
}
