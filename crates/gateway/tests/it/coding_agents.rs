//! Codex and Claude Code, as their users install them, do real work through the service.
//!
//! The model is scripted: it asks for a command, for an edit, and then says that it is done. The
//! agents get an address, a key and a model, and nothing else that concerns the service.

use std::fs;
use std::path::Path;

use agent_test_support::sdk::coding_agent;
use agent_test_support::upstream::{ResponsesApi, Step, Upstream};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{provider, with_providers};
use crate::support::{Holder, PRICE, Running};

const BEFORE: &str = "hello old world\n";
const AFTER: &str = "hello new world\n";
const PATCH: &str = "*** Begin Patch\n*** Update File: hello.txt\n@@\n-hello old world\n+hello new world\n*** End Patch\n";

fn call(name: &str, arguments: &serde_json::Value) -> Step {
    Step::Turn("", vec![(name.to_owned(), arguments.to_string())])
}

/// A folder with a file to edit, and a home.
fn workspace() -> (TempDir, TempDir) {
    let (work, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(work.path().join("hello.txt"), BEFORE).unwrap();
    (work, home)
}

fn service(upstream: &Upstream, kind: &str) -> (Running, Holder) {
    let entry = format!("kind: {kind}, models: [coder], health: false");
    let service = Running::start(&with_providers(&[provider("mock", upstream, &entry)], ""));
    let ada = service.holder("ada", 100 * PRICE);
    (service, ada)
}

fn check(work: &Path, service: &Running, ada: &Holder, turns: i64) {
    assert_eq!(fs::read_to_string(work.join("hello.txt")).unwrap(), AFTER);
    assert_eq!(fs::read_to_string(work.join("made.txt")).unwrap(), "made by a command\n");
    let spent = 100 * PRICE - service.account(ada.member).balance.get();
    assert_eq!(spent, turns * PRICE);
    service.check_ledger();
}

fn run_codex(service: &Running, ada: &Holder, settings: &str) -> TempDir {
    let (work, home) = workspace();
    let config = format!(
        "model = \"mock/coder\"\nmodel_provider = \"ours\"\n{settings}\n[model_providers.ours]\nname = \"ours\"\n\
         base_url = \"{}/v1\"\nenv_key = \"OURS_KEY\"\nwire_api = \"responses\"\n",
        service.origin()
    );
    fs::write(home.path().join("config.toml"), config).unwrap();
    let folder = home.path().to_str().unwrap();
    let environment = [("HOME", folder), ("CODEX_HOME", folder), ("OURS_KEY", ada.key.as_str())];
    let arguments = [
        "exec",
        "--dangerously-bypass-approvals-and-sandbox",
        "--skip-git-repo-check",
        "make the changes",
    ];
    let run = coding_agent("codex", &arguments, &environment, work.path());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("all done"), "{run:?}");
    work
}

fn codex_script() -> Vec<Step> {
    let command = "echo made by a command > made.txt";
    let patch = format!("apply_patch <<'EOF'\n{PATCH}EOF\n");
    vec![
        call("exec_command", &json!({"cmd": command})),
        call("exec_command", &json!({"cmd": patch})),
        Step::Turn("all done", Vec::new()),
    ]
}

#[test]
fn codex_works_through_a_chat_upstream() {
    let upstream = Upstream::start();
    upstream.set_responses(ResponsesApi::Absent);
    upstream.script("coder", codex_script());
    let (service, ada) = service(&upstream, "openai");
    let work = run_codex(&service, &ada, "");
    check(work.path(), &service, &ada, 3);
    let seen = upstream.completions();
    let chats = seen.iter().filter(|seen| seen.path == "/v1/chat/completions");
    for body in chats.map(|seen| seen.json()) {
        for field in ["client_metadata", "prompt_cache_key", "include", "store"] {
            assert!(body.get(field).is_none(), "{field}");
        }
        assert!(body["tools"].as_array().unwrap().iter().all(|tool| tool["type"] == "function"));
    }
}

#[test]
fn codex_works_through_a_responses_upstream() {
    let upstream = Upstream::start();
    upstream.script("coder", codex_script());
    let (service, ada) = service(&upstream, "openai");
    let work = run_codex(&service, &ada, "");
    check(work.path(), &service, &ada, 3);
    let seen = upstream.completions();
    assert!(seen.iter().all(|seen| seen.path == "/v1/responses"));
    // Native upstreams get the tools as they came.
    let tools = seen[0].json()["tools"].clone();
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["type"] == "namespace"), "{tools}");
}

#[test]
fn codex_free_form_tools_work_through_a_chat_upstream() {
    let upstream = Upstream::start();
    upstream.set_responses(ResponsesApi::Absent);
    let command = "echo made by a command > made.txt";
    upstream.script(
        "coder",
        vec![
            call("exec_command", &json!({"cmd": command})),
            call("apply_patch", &json!({"input": PATCH})),
            Step::Turn("all done", Vec::new()),
        ],
    );
    let (service, ada) = service(&upstream, "openai");
    // The tools that Codex offers depend on what it knows about the model.
    let folder = TempDir::new().unwrap();
    let catalogue = folder.path().join("models.json");
    fs::write(&catalogue, include_str!("scripts/codex_models.json")).unwrap();
    let work = run_codex(&service, &ada, &format!("model_catalog_json = {catalogue:?}"));
    check(work.path(), &service, &ada, 3);
}

fn claude_script(work: &Path) -> Vec<Step> {
    let file = work.join("hello.txt");
    vec![
        call("Read", &json!({"file_path": file})),
        call("Edit", &json!({"file_path": file, "old_string": "old", "new_string": "new"})),
        call(
            "Bash",
            &json!({"command": "echo made by a command > made.txt", "description": "make"}),
        ),
        Step::Turn("all done", Vec::new()),
    ]
}

fn run_claude(upstream: &Upstream, kind: &str, key_variable: &str) {
    let (service, ada) = service(upstream, kind);
    let (work, home) = workspace();
    upstream.script("coder", claude_script(work.path()));
    let origin = service.origin();
    let environment = [
        ("HOME", home.path().to_str().unwrap()),
        ("ANTHROPIC_BASE_URL", origin.as_str()),
        (key_variable, ada.key.as_str()),
        // Without this it connects to api.anthropic.com, whatever the address of the service is, and
        // tests reach no host but this one.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ];
    let arguments =
        ["-p", "make the changes", "--model", "mock/coder", "--allowedTools", "Read,Edit,Bash"];
    let run = coding_agent("claude", &arguments, &environment, work.path());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("all done"), "{run:?}");
    check(work.path(), &service, &ada, 4);
}

#[test]
fn claude_code_works_through_a_chat_upstream() {
    let upstream = Upstream::start();
    run_claude(&upstream, "openai", "ANTHROPIC_API_KEY");
    assert!(upstream.completions().iter().all(|seen| seen.path == "/v1/chat/completions"));
}

#[test]
fn claude_code_works_through_an_anthropic_upstream() {
    let upstream = Upstream::start();
    run_claude(&upstream, "anthropic", "ANTHROPIC_AUTH_TOKEN");
    assert!(upstream.completions().iter().all(|seen| seen.path.starts_with("/v1/messages")));
}
