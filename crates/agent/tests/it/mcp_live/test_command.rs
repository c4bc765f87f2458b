//! `agent mcp test`: each step, and what to do when one fails.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use agent_test_support::command::{ProgramOutput, TestHome};
use serde_json::Value;

use super::{UNSTEADY, configure, configured, entry, steady, with_notes};
use crate::mcp_config::configuration;

fn assert_snapshot(name: &str, agent: &TestHome, run: &ProgramOutput) {
    insta::with_settings!({ filters => UNSTEADY.to_vec() }, {
        insta::assert_snapshot!(name, steady(agent, run));
    });
}

/// A bench whose only server gives this answer to every request.
fn answering(head: &'static str) -> TestHome {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let answer =
                format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            // A client that goes away early has heard enough.
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    configured(&format!("mcp_servers:\n  web:\n    url: http://{address}/mcp\n"))
}

#[test]
fn a_working_server_passes_every_step() {
    let agent = with_notes();
    assert_snapshot("test_good", &agent, &agent.run(["mcp", "test", "notes"]));
}

#[test]
fn rust_log_shows_a_connection_step_by_step() {
    let agent = with_notes();
    let mut command = agent.command(["mcp", "call", "notes/echo", "{\"text\": \"hi\"}"]);
    let run = ProgramOutput::of(command.env("RUST_LOG", "mcp_client=debug"), b"");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let position = |part: &str| {
        let line = run.stderr.lines().position(|line| line.contains(part));
        line.unwrap_or_else(|| panic!("no `{part}` in {}", run.stderr))
    };
    let steps = [
        "connecting server=notes",
        "connect step done server=notes step=\"start\"",
        "connect step done server=notes step=\"initialize\"",
        "method=\"tools/list\"",
        "state=\"ready",
        "method=\"tools/call\"",
    ];
    assert!(steps.map(position).is_sorted(), "{}", run.stderr);
    let bad = ProgramOutput::of(command.env("RUST_LOG", "mcp_client=loud"), b"");
    assert_eq!(bad.code, 0, "{}", bad.stderr);
    assert!(bad.stderr.contains("RUST_LOG is ignored"), "{}", bad.stderr);
}

#[test]
fn disabled_servers_are_tested_and_unset_variables_named() {
    let entry = entry("notes", "TOKEN: \"${NOT_SET_ANYWHERE}\"");
    let agent = configured(&format!("mcp_servers:\n{entry}"));
    assert_snapshot("test_unset_variable", &agent, &agent.run(["mcp", "test", "notes"]));
    let agent = configured(&format!("mcp_servers:\n{entry}    enabled: false\n"));
    let run = agent.run(["mcp", "test", "notes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("disabled; tested anyway"), "{}", run.stdout);
}

#[test]
fn the_stderr_of_a_crashed_server_is_shown() {
    let agent = configured(&format!("mcp_servers:\n{}", entry("notes", "FIXTURE_MODE: crash")));
    assert_snapshot("test_crash", &agent, &agent.run(["mcp", "test", "notes"]));
}

#[test]
fn a_silent_server_names_connect_timeout() {
    let entry = entry("notes", "FIXTURE_MODE: hang");
    let agent = configured(&format!("mcp_servers:\n{entry}    connect_timeout: 1\n"));
    assert_snapshot("test_hang", &agent, &agent.run(["mcp", "test", "notes"]));
}

#[test]
fn a_missing_program_names_the_searched_path() {
    let agent = configured("mcp_servers:\n  notes:\n    command: no-such-program\n");
    let run = agent.run(["mcp", "test", "notes"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("`no-such-program` not found; searched PATH"), "{run:?}");
    assert!(
        run.stderr.contains("hint: if it is installed, set `command` to the full path"),
        "{run:?}"
    );
}

#[test]
fn unusable_tools_are_named() {
    let agent = configured(&format!("mcp_servers:\n{}", entry("notes", "FIXTURE_MODE: sour")));
    assert_snapshot("test_sour", &agent, &agent.run(["mcp", "test", "notes"]));
}

#[test]
fn dns_and_tcp_are_separate_steps() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let agent = configured(&format!("mcp_servers:\n  web:\n    url: http://{address}/mcp\n"));
    let run = agent.run(["mcp", "test", "web"]);
    assert_eq!(run.code, 5);
    assert!(
        run.stdout.contains("ok      DNS             127.0.0.1 resolves to 127.0.0.1"),
        "{run:?}"
    );
    assert!(run.stdout.contains("failed  TCP "), "{run:?}");
    assert!(run.stderr.contains("Connection refused"), "{run:?}");
}

#[test]
fn a_server_that_needs_authorization_exits_with_4() {
    let agent = answering("401 Unauthorized");
    let run = agent.run(["mcp", "test", "web"]);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.stderr.contains("`Authorization: Bearer ${NAME}`"), "{run:?}");
}

#[test]
fn a_web_page_fails_the_preflight() {
    let agent = answering("200 OK\r\ncontent-type: text/html");
    let run = agent.run(["mcp", "test", "web"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stdout.contains("failed  preflight"), "{run:?}");
    assert!(run.stderr.contains("check `url` of web"), "{run:?}");
    assert!(run.stderr.contains("`skip_preflight: true`"), "{run:?}");
    // Where the check is skipped already, the advice to skip it would not help.
    let config = configuration(&agent) + "    skip_preflight: true\n";
    configure(&agent, &config);
    let run = agent.run(["mcp", "test", "web"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(!run.stdout.contains("preflight"), "{run:?}");
    assert!(run.stderr.contains("check `url` of web"), "{run:?}");
    assert!(!run.stderr.contains("skip_preflight"), "{run:?}");
}

#[test]
fn a_missing_ca_bundle_fails_before_connecting() {
    let agent = configured(
        "mcp_servers:\n  web:\n    url: https://127.0.0.1:9/mcp\n    ssl_verify: /no/such.pem\n",
    );
    let run = agent.run(["mcp", "test", "web"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stdout.contains("failed  files           the CA bundle `/no/such.pem`"), "{run:?}");
    assert!(!run.stdout.contains("DNS"), "{run:?}");
}

#[test]
fn missing_system_certificates_are_a_configuration_error() {
    let agent = configured("mcp_servers:\n  web:\n    url: https://127.0.0.1:9/mcp\n");
    let mut command = agent.command(["mcp", "list"]);
    command.env("SSL_CERT_FILE", "/no/such.pem").env("SSL_CERT_DIR", "/no/such");
    let run = ProgramOutput::of(&mut command, b"");
    assert!(run.stdout.contains("no certificate authorities to verify"), "{run:?}");
    assert!(run.stdout.contains("correct SSL_CERT_FILE"), "{run:?}");
    let mut command = agent.command(["mcp", "call", "web/x", "{}"]);
    command.env("SSL_CERT_FILE", "/no/such.pem").env("SSL_CERT_DIR", "/no/such");
    let run = ProgramOutput::of(&mut command, b"");
    assert_eq!(run.code, 3, "{run:?}");
}

#[test]
fn unknown_names_get_a_suggestion_and_invalid_entries_an_error() {
    let agent = configured(&format!("mcp_servers:\n{}  bad: 5\n", entry("notes", "")));
    assert_snapshot("test_unknown", &agent, &agent.run(["mcp", "test", "ntoes"]));
    assert_snapshot("test_broken_entry", &agent, &agent.run(["mcp", "test", "bad"]));
}

#[test]
fn json_output_is_one_document() {
    let agent = configured(&format!("mcp_servers:\n{}", entry("notes", "FIXTURE_MODE: crash")));
    let run = agent.run(["mcp", "test", "notes", "--json"]);
    assert_eq!(run.code, 5);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["works"], false);
    assert_eq!(document["error"]["kind"], "peer");
    assert_eq!(document["steps"][3]["step"], "initialize");
    assert_eq!(document["steps"][3]["status"], "failed");
}
