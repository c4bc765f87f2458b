//! The tools of the service, called by our own MCP client.

use std::fs;

use agent_test_support::command::ProgramOutput;
use serde_json::{Value, json};

use super::Fixture;
use crate::mcp_live::configure;

/// What a question costs.
const PRICE: i64 = 1000;

/// A configuration of the client with the service under the name `members`.
fn entry(address: &str, protocol: &str) -> String {
    format!(
        "mcp_servers:\n  members:\n    url: http://{address}/mcp\n    protocol: {protocol}\n    \
         headers: {{Authorization: \"Bearer ${{MEMBER_KEY}}\"}}\n"
    )
}

fn give_key(fixture: &Fixture, key: &str) {
    let secrets = format!("UPSTREAM_KEY={}\nMEMBER_KEY={key}\n", fixture.upstream.key());
    fs::write(fixture.agent.home().join(".env"), secrets).unwrap();
}

#[track_caller]
fn good(run: &ProgramOutput) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn mcp_client_calls_tools_of_the_service_in_both_protocols() {
    let fixture = Fixture::bare();
    fixture.configure(&format!("prices: {{default_micros: {{chat: {PRICE}}}}}\n"));
    assert_eq!(fixture.run(["migrate"]).code, 0);
    let key = fixture.alice();
    give_key(&fixture, &key);
    let served = fixture.serve();
    let agent = &fixture.agent;
    for protocol in ["legacy", "stateless"] {
        configure(agent, &entry(&served.address, protocol));
        let listed = good(&agent.run(["mcp", "tools", "members", "--schema", "--json"]));
        let names = listed.to_string();
        for name in ["list_capabilities", "list_models", "ask", "web_fetch", "account"] {
            assert!(names.contains(&format!("mcp__members__{name}\"")), "{protocol}: {names}");
        }
        let question = json!({"prompt": "héllo 漢字", "model": "test/echo"}).to_string();
        let run = agent.run(["mcp", "call", "members/ask", &question]);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{protocol}: {run:?}");
        assert!(run.stdout.contains("héllo 漢字"), "{protocol}: {run:?}");
        let run = agent.run(["mcp", "call", "members/list_models"]);
        assert!(run.code == 0 && run.stdout.contains("test/echo"), "{protocol}: {run:?}");
        let run = agent.run(["mcp", "call", "members/ask", r#"{"prompt": ""}"#]);
        let told = format!("{}{}", run.stdout, run.stderr);
        assert!(run.code != 0 && told.contains("`prompt`"), "{protocol}: {run:?}");
    }
    let (_, me) = served.ask("GET", "/v1/me", &key, "");
    let me: Value = serde_json::from_str(&me).unwrap();
    assert_eq!(me["usage"]["today"]["charged_micros"], 2 * PRICE, "{me}");
}

#[test]
fn an_unknown_key_is_reported_as_unauthorized() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let served = fixture.serve();
    let (rest, last) = key.split_at(key.len() - 1);
    give_key(&fixture, &format!("{rest}{}", if last == "x" { "y" } else { "x" }));
    for protocol in ["legacy", "stateless"] {
        configure(&fixture.agent, &entry(&served.address, protocol));
        let run = fixture.agent.run(["mcp", "call", "members/account"]);
        assert_ne!(run.code, 0, "{run:?}");
        assert!(run.stderr.contains("401"), "{protocol}: {run:?}");
    }
}
