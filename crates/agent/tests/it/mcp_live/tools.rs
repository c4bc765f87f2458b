//! `agent mcp tools`: what can be called, and what cannot.

use serde_json::Value;

use super::{configured, entry, steady, with_notes};

#[test]
fn tools_are_listed_with_permissions_and_token_cost() {
    let agent = with_notes();
    insta::assert_snapshot!(steady(&agent, &agent.run(["mcp", "tools"])));
}

#[test]
fn unusable_tools_and_servers_are_listed_separately() {
    let agent = configured(&format!(
        "mcp_servers:\n{}    trust: untrusted\n    tools: {{include: [echo, 'write*'], resources: off, \
         prompts: off}}\n{}",
        entry("notes", "FIXTURE_MODE: sour"),
        entry("crash", "FIXTURE_MODE: crash"),
    ));
    insta::assert_snapshot!(steady(&agent, &agent.run(["mcp", "tools"])));
}

#[test]
fn schemas_are_shown_as_sent_to_models() {
    let agent = configured(&format!(
        "mcp_servers:\n{}    tools: {{include: [write-note], resources: off, prompts: off}}\n",
        entry("notes", "")
    ));
    insta::assert_snapshot!(steady(&agent, &agent.run(["mcp", "tools", "notes", "--schema"])));
    let run = agent.run(["mcp", "tools", "--schema", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["tools"][0]["native_name"], "write-note");
    assert_eq!(document["tools"][0]["schema"]["required"][0], "text");
}

#[test]
fn every_live_command_has_a_help_page_with_examples() {
    let agent = with_notes();
    for command in ["list", "test", "tools", "call", "doctor"] {
        let help = agent.run(["mcp", command, "--help"]);
        let example = format!("  agent mcp {command}");
        assert!(help.stdout.contains("Examples:") && help.stdout.contains(&example), "{command}");
    }
}

#[test]
fn the_command_fails_only_if_all_servers_fail() {
    let agent = configured(&format!("mcp_servers:\n{}", entry("crash", "FIXTURE_MODE: crash")));
    let run = agent.run(["mcp", "tools"]);
    assert_eq!((run.code, &*run.stdout), (5, ""), "{run:?}");
    assert!(run.stderr.contains("not ready: server `crash`: the server exited with status 3"));
    assert_eq!(configured("mcp_servers: {}\n").run(["mcp", "tools"]).code, 0);
}
