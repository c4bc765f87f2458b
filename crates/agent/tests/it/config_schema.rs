//! The JSON Schema of both configuration files, as an editor uses it.

use agent_test_support::json_schema::JsonSchema;
use serde_json::{Value, json};

use crate::command_line::agent;

/// The schema that a command prints, and the paths of what it finds wrong with a file.
fn faults(arguments: &[&str], file: &Value) -> Vec<String> {
    let run = agent().run(arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let schema: Value = serde_json::from_str(&run.stdout).unwrap();
    JsonSchema::of(&schema).faults(file)
}

#[test]
fn config_schema_accepts_every_section_and_rejects_mistakes() {
    let good = json!({
        "model": "fast",
        "member": {"base_url": "https://members.example.com/v1", "api_key": "${KEY}"},
        "task": {"max_rounds": 50, "max_minutes": 0.5, "api": "responses", "member_tools": "off"},
        "metrics": {"mode": "local", "retention_days": 7},
        "update": {"public_key": "abc"},
        "mcp": {"client_metadata_url": "https://me.example.com/client.json"},
        "mcp_servers": {
            "files": {"command": "npx", "args": ["-y", 8080], "env": {"PORT": 8080}},
            "issues": {
                "url": "https://a.b/mcp", "headers": {"Authorization": "Bearer ${T}"},
                "tools": ["a"], "sampling": false, "ssl_verify": "~/ca.pem", "timeout": "${S}",
                "protocol": "modern", "client_cert": ["c", "k"], "oauth": {"scope": "x"},
            },
        },
        "of_another_program": 1,
    });
    assert_eq!(faults(&["config", "schema"], &good), Vec::<String>::new());
    for (wrong, path) in [
        (json!({"task": {"max_rounds": 0}}), "/task/max_rounds"),
        (json!({"task": {"max_round": 5}}), "/task"),
        (json!({"mcp_servers": {"a": {"comand": "x"}}}), "/mcp_servers/a"),
        (
            json!({"mcp_servers": {"a": {"url": "http://h", "trust": "some"}}}),
            "/mcp_servers/a/trust",
        ),
        (json!({"member": 5}), "/member"),
    ] {
        assert_eq!(faults(&["config", "schema"], &wrong), [path], "{wrong}");
    }
}

#[test]
fn gateway_schema_accepts_a_file_and_rejects_mistakes() {
    let good = json!({"listen": "127.0.0.1:8930", "limits": {"drain_seconds": 5}});
    assert_eq!(faults(&["gateway", "schema"], &good), Vec::<String>::new());
    let wrong = json!({"limits": {"drain_seconds": "soon"}});
    assert_eq!(faults(&["gateway", "schema"], &wrong), ["/limits/drain_seconds"]);
}
