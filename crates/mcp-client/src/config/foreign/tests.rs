//! One file of each client, and what becomes of it.

use serde_json::json;

use super::super::{Scope, parse_entry};
use super::*;

fn one(kind: Kind, text: &str) -> Found {
    let mut found = read(kind, text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(found.len(), 1, "{text}");
    found.remove(0)
}

fn at(kind: Kind, key: &str, entry: &str) -> Found {
    one(kind, &format!("{{\"{key}\": {{\"s\": {entry}}}}}"))
}

#[test]
fn the_common_format_is_imported_unchanged() {
    let entry = r#"{"command": "npx", "args": ["-y", "p"], "env": {"A": "b"}}"#;
    let expected = json!({"command": "npx", "args": ["-y", "p"], "env": {"A": "b"}});
    for kind in [Kind::ClaudeDesktop, Kind::ClaudeCode, Kind::Cursor, Kind::Pasted] {
        let found = at(kind, "mcpServers", entry);
        assert_eq!((found.name.as_str(), &found.scope, &found.entry), ("s", &None, &expected));
        assert_eq!(found.notes, [] as [String; 0]);
    }
    assert_eq!(at(Kind::VsCode, "servers", entry).entry, expected);
}

#[test]
fn types_switches_and_timeouts_are_translated() {
    let entry = r#"{"type": "sse", "url": "https://h", "disabled": true, "timeout": 5000, "alwaysAllow": ["x"]}"#;
    let found = at(Kind::ClaudeCode, "mcpServers", entry);
    assert_eq!(
        found.entry,
        json!({"transport": "sse", "url": "https://h", "enabled": false, "timeout": 5.0})
    );
    assert_eq!(
        found.notes,
        ["`alwaysAllow` was not imported", "`timeout` was converted from milliseconds"]
    );
    let found = at(
        Kind::Pasted,
        "mcpServers",
        r#"{"type": "http", "serverUrl": "https://h", "timeout": 60}"#,
    );
    assert_eq!(found.entry, json!({"url": "https://h", "timeout": 60}));
    assert_eq!(at(Kind::Cursor, "mcpServers", r#"{"type": "ws", "url": "ws://h"}"#).notes.len(), 1);
}

/// `claude mcp add` of 2.1.197 writes the keys of "/p" and `b`; `scopes`, `authServerMetadataUrl`,
/// `headersHelper` and `timeout` are on <https://code.claude.com/docs/en/mcp>. `/mcp` writes
/// `disabledMcpServers`, as issue 13311 of anthropics/claude-code shows.
#[test]
fn project_servers_of_claude_code_are_found() {
    let text = r#"{"mcpServers": {"a": {"type": "stdio", "command": "x", "args": [], "env": {"A": "b"}}},
        "numStartups": 5, "projects": {
        "/p": {"allowedTools": [], "mcpContextUris": [], "mcpServers": {
               "b": {"type": "http", "url": "https://h", "headers": {"X-Team": "core"},
                     "oauth": {"clientId": "c", "callbackPort": 8080, "scopes": "r w",
                               "authServerMetadataUrl": "https://a"}, "headersHelper": "/bin/h"},
               "c": {"command": "${X:-s3cret}", "timeout": 600000}},
               "enabledMcpjsonServers": [], "disabledMcpjsonServers": [],
               "disabledMcpServers": ["c"], "hasTrustDialogAccepted": false},
        "/q": {}}}"#;
    let found = read(Kind::ClaudeCode, text).unwrap();
    assert_eq!(found[0].entry, json!({"command": "x", "args": [], "env": {"A": "b"}}));
    let places: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.scope.as_deref())).collect();
    assert_eq!(places, [("a", None), ("b", Some("/p")), ("c", Some("/p"))]);
    assert_eq!(
        found[1].entry,
        json!({"url": "https://h", "headers": {"X-Team": "core"}, "auth": "oauth",
               "oauth": {"client_id": "c", "redirect_port": 8080, "scope": "r w"}})
    );
    let left_out =
        ["`headersHelper` was not imported", "`oauth.authServerMetadataUrl` was not imported"];
    assert_eq!(found[1].notes, left_out);
    assert_eq!(
        found[2].entry,
        json!({"command": "${X:-s3cret}", "enabled": false, "timeout": 600.0})
    );
    assert_eq!(found[2].notes, ["`timeout` was converted from milliseconds"]);
}

/// The keys of <https://cursor.com/docs/mcp.md>: a local server, and a remote one with a static
/// client. Cursor keeps its switch of a server outside of the file.
#[test]
fn servers_of_cursor_are_found() {
    let text = r#"{"mcpServers": {
        "local": {"type": "stdio", "command": "python", "args": ["${workspaceFolder}/server.py"],
                  "env": {"KEY": "${env:KEY}"}, "envFile": ".env"},
        "remote": {"url": "https://h", "headers": {"X": "${env:Y}"},
                   "auth": {"CLIENT_ID": "a", "CLIENT_SECRET": "${env:B}", "scopes": ["r", "w"]}}
    }}"#;
    let found = read(Kind::Cursor, text).unwrap();
    assert_eq!(
        found[0].entry,
        json!({"command": "python", "args": ["${workspaceFolder}/server.py"],
               "env": {"KEY": "${env:KEY}"}})
    );
    assert_eq!(found[0].notes, ["`envFile` was not imported"]);
    assert_eq!(
        found[1].entry,
        json!({"url": "https://h", "headers": {"X": "${env:Y}"}, "auth": "oauth",
               "oauth": {"client_id": "a", "client_secret": "${env:B}", "scope": "r w"}})
    );
    assert_eq!(found[1].notes, [] as [String; 0]);
}

/// The keys of the schema in src/vs/workbench/contrib/mcp/common/mcpConfiguration.ts of VS Code,
/// and `oauth` of <https://code.visualstudio.com/docs/agents/reference/mcp-configuration>. VS Code
/// keeps its switch of a server outside of the file.
#[test]
fn inputs_of_the_editor_become_variables() {
    let text = r#"{ // mine
        "inputs": [{"id": "api-key", "type": "promptString", "description": "Key of X", "password": true},],
        "servers": {"s": {"type": "stdio", "command": "x", "env": {"K": "${input:api-key}"},
                    "cwd": "${workspaceFolder}/a", "args": ["${config:a.b}"],
                    "envFile": "${workspaceFolder}/.env", "dev": {"watch": "src/**/*.ts"}},
                    "remote": {"type": "http", "url": "https://h", "oauth": {"clientId": "c"},
                    "headers": {"Authorization": "Bearer ${input:api-key}"}},
                    "older": {"type": "sse", "url": "https://o"}},
    }"#;
    for text in [text.to_owned(), format!("{{\"mcp\": {text}}}")] {
        let found = read(Kind::VsCode, &text).unwrap();
        let of = |name: &str| found.iter().find(|found| found.name == name).unwrap();
        assert_eq!(of("s").entry["env"]["K"], "${API_KEY}");
        assert_eq!(of("s").entry["cwd"], "${workspaceFolder}/a");
        let prompted =
            "set the variable `API_KEY`; the editor prompted for it at each start (Key of X)";
        assert_eq!(
            of("s").notes,
            [
                "`${config:a.b}` is not supported",
                "`dev` was not imported",
                "`envFile` was not imported",
                prompted,
            ]
        );
        assert_eq!(
            of("remote").entry,
            json!({"url": "https://h", "auth": "oauth", "oauth": {"client_id": "c"},
                   "headers": {"Authorization": "Bearer ${API_KEY}"}})
        );
        assert_eq!(of("remote").notes, [prompted]);
        assert_eq!(of("older").entry, json!({"transport": "sse", "url": "https://o"}));
    }
}

/// The keys of `RawMcpServerConfig` in codex-rs/config/src/mcp_types.rs of Codex; `codex mcp add` of
/// 0.169.0 writes those of `c`, too.
#[test]
fn servers_of_codex_toml_are_found() {
    let text = r#"
model = "x"
[mcp_servers.a]
command = "npx"
args = ["-y", "p"]
env = { A = "b" }
env_vars = ["TOKEN", { name = "OTHER", source = "local" }]
cwd = "/w"
supports_parallel_tool_calls = true
default_tools_approval_mode = "prompt"
startup_timeout_sec = 20
tool_timeout_sec = 45.5
enabled_tools = ["x"]
disabled_tools = ["y"]
required = true
[mcp_servers.b]
url = "https://h"
bearer_token_env_var = "B"
http_headers = { X = "y" }
env_http_headers = { Z = "ZVAR" }
startup_timeout_ms = 1500
scopes = ["r", "w"]
enabled = false
oauth_resource = "x"
[mcp_servers.b.tools.y]
approval_mode = "approve"
[mcp_servers.c]
url = "https://c"
[mcp_servers.c.oauth]
client_id = "abc"
callback_url = "http://127.0.0.1/callback/x"
"#;
    let found = read(Kind::Codex, text).unwrap();
    assert_eq!(
        found[0].entry,
        json!({"command": "npx", "args": ["-y", "p"], "cwd": "/w", "required": true,
               "supports_parallel_tool_calls": true,
               "env": {"A": "b", "TOKEN": "${TOKEN}", "OTHER": "${OTHER}"},
               "connect_timeout": 20, "timeout": 45.5, "tools": {"include": ["x"], "exclude": ["y"]}})
    );
    assert_eq!(
        found[1].entry,
        json!({"url": "https://h", "enabled": false, "connect_timeout": 1.5, "auth": "oauth",
               "oauth": {"scope": "r w"},
               "headers": {"Authorization": "Bearer ${B}", "X": "y", "Z": "${ZVAR}"}})
    );
    assert_eq!(found[0].notes, ["`default_tools_approval_mode` was not imported"]);
    let left_out = ["`oauth_resource` was not imported", "`tools` was not imported"];
    assert_eq!(found[1].notes, left_out);
    assert_eq!(
        found[2].entry,
        json!({"url": "https://c", "auth": "oauth", "oauth": {"client_id": "abc"}})
    );
    assert_eq!(found[2].notes, ["`oauth.callback_url` was not imported"]);
    assert_eq!(read(Kind::Pasted, text).unwrap(), found);
}

/// As `goose configure` writes it: `ExtensionConfig` in crates/goose/src/agents/extension.rs of goose,
/// and `enabled` of crates/goose/src/config/extensions.rs.
const GOOSE: &str = r"
extensions:
  developer:
    bundled: true
    display_name: Developer
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  todo:
    available_tools: []
    bundled: true
    description: Enable a todo list for goose so it can keep track of what it is doing
    display_name: Todo
    enabled: true
    name: todo
    type: platform
  github:
    args:
    - -y
    - '@modelcontextprotocol/server-github'
    available_tools:
    - search_code
    bundled: null
    cmd: npx
    description: ''
    enabled: true
    env_keys:
    - GITHUB_PERSONAL_ACCESS_TOKEN
    envs:
      LOG: '1'
    name: github
    timeout: 2000
    type: stdio
  linear:
    available_tools: []
    description: Issues
    enabled: false
    env_keys: []
    envs: {}
    headers:
      X-Team: a
    name: linear
    socket: null
    timeout: 300
    type: streamable_http
    uri: https://mcp.linear.example/mcp
  old:
    enabled: true
    envs: {}
    name: old
    type: sse
    uri: http://localhost:1/sse
GOOSE_PROVIDER: openai
GOOSE_MODEL: gpt
";

#[test]
fn servers_among_goose_extensions_are_found() {
    let found = read(Kind::Goose, GOOSE).unwrap();
    let of = |name: &str| found.iter().find(|found| found.name == name).unwrap();
    assert_eq!(of("developer").unusable, Some("it is a part of goose"));
    assert_eq!(of("todo").unusable, Some("it is a part of goose"));
    assert_eq!(
        of("github").entry,
        json!({"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
               "enabled": true, "timeout": 2000, "tools": {"include": ["search_code"]},
               "env": {"LOG": "1",
                       "GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_PERSONAL_ACCESS_TOKEN}"}})
    );
    assert_eq!(
        of("github").notes,
        ["set the variable `GITHUB_PERSONAL_ACCESS_TOKEN`; goose keeps its value"]
    );
    assert_eq!(
        of("linear").entry,
        json!({"url": "https://mcp.linear.example/mcp", "enabled": false, "timeout": 300,
               "headers": {"X-Team": "a"}})
    );
    assert_eq!(of("linear").notes, [] as [String; 0]);
    assert_eq!(of("old").entry["transport"], "sse");
    assert_eq!(read(Kind::Pasted, GOOSE).unwrap(), found);
    let broken = read(Kind::Goose, "extensions:\n  a: [\n").unwrap_err();
    assert!(matches!(broken, ForeignError::NotYaml { .. }), "{broken}");
}

/// The keys of website/docs/reference/mcp-config-reference.md of hermes, which are ours.
#[test]
fn hermes_entries_keep_their_keys() {
    let text = "
model: anthropic/claude
mcp_servers:
  files:
    command: npx
    args: [-y, p, '${workspaceFolder}']
    env: {KEY: '${env:KEY}'}
    enabled: false
    timeout: 1800
    connect_timeout: 60
    keepalive_interval: 180
    idle_timeout_seconds: 0
    max_lifetime_seconds: 0
    supports_parallel_tool_calls: false
    tools: {include: [a], exclude: [], resources: true, prompts: false}
    sampling: {enabled: false}
    elicitation: {enabled: true, timeout: 300}
    trust: untrusted
    colour: red
  api:
    url: https://h/mcp
    transport: sse
    headers: {Authorization: 'Bearer ${API_KEY}'}
    ssl_verify: true
    client_cert: ~/c.pem
    client_key: ~/k.pem
    protocol: auto
    skip_preflight: false
    auth: oauth
    oauth: {client_id: a, client_secret: b, scope: r w, redirect_port: 1, timeout: 300}
";
    let found = read(Kind::Hermes, text).unwrap();
    let mut theirs = yaml(text).unwrap()["mcp_servers"].take();
    theirs["files"].as_object_mut().unwrap().remove("colour");
    let of = |name: &str| found.iter().find(|found| found.name == name).unwrap();
    assert_eq!((&of("files").entry, &of("api").entry), (&theirs["files"], &theirs["api"]));
    assert_eq!(of("files").notes, ["`colour` was not imported"]);
    assert_eq!(of("api").notes, [] as [String; 0]);
    for one in &found {
        // Only the home folder and the variables of this scope are missing.
        let parsed = parse_entry(&one.name, &one.entry, &Scope::default());
        assert!(parsed.is_ok(), "{}: {:?}", one.name, parsed.err());
    }
}

/// `ContextServerSettingsContent` in `crates/settings_content/src/project.rs` of Zed; `old` is of 2024.
#[test]
fn both_command_forms_of_zed_are_read_and_extensions_skipped() {
    let text = r#"{
        // Zed settings
        "theme": "One Dark",
        "context_servers": {
            "new": {"source": "custom", "enabled": true, "remote": false, "command": "npx",
                    "args": ["-y", "p"], "env": {}, "timeout": 1200},
            "old": {"command": {"path": "/bin/p", "args": ["run"], "env": {"A": "b"}}, "settings": {"x": 1}},
            "far": {"enabled": false, "url": "https://h", "headers": {"X": "y"}, "timeout": 60,
                    "oauth": {"client_id": "a", "client_secret": "b"}},
            "extension": {"source": "extension", "enabled": true, "settings": {"token": "s3cret"}},
            "older": {"settings": {}},
        },
    }"#;
    let found = read(Kind::Zed, text).unwrap();
    let of = |name: &str| found.iter().find(|found| found.name == name).unwrap();
    assert_eq!(
        of("new").entry,
        json!({"enabled": true, "command": "npx", "args": ["-y", "p"], "env": {}, "timeout": 1200})
    );
    assert_eq!(of("new").notes, ["`remote` was not imported"]);
    assert_eq!(of("old").entry, json!({"command": "/bin/p", "args": ["run"], "env": {"A": "b"}}));
    assert_eq!(of("old").notes, ["`settings` was not imported"]);
    assert_eq!(
        of("far").entry,
        json!({"enabled": false, "url": "https://h", "headers": {"X": "y"}, "timeout": 60,
               "auth": "oauth", "oauth": {"client_id": "a", "client_secret": "b"}})
    );
    for name in ["extension", "older"] {
        assert_eq!(of(name).unusable, Some("an extension of Zed starts it"), "{name}");
    }
}

/// <https://docs.windsurf.com/windsurf/cascade/mcp> has `serverUrl`, `url`, `headers` and references;
/// `disabled` and `disabledTools` are from published files of its users.
#[test]
fn disabled_tools_of_windsurf_are_excluded() {
    let text = r#"{"mcpServers": {
        "local": {"command": "npx", "args": ["-y", "p"], "env": {"KEY": "${env:KEY}"}, "disabled": false},
        "far": {"serverUrl": "https://h/mcp", "disabled": true, "disabledTools": ["a", "b"],
                "headers": {"X": "${env:Y}"}},
        "near": {"url": "https://n/mcp"}}}"#;
    let found = read(Kind::Windsurf, text).unwrap();
    let of = |name: &str| found.iter().find(|found| found.name == name).unwrap();
    assert_eq!(
        of("local").entry,
        json!({"command": "npx", "args": ["-y", "p"], "env": {"KEY": "${env:KEY}"}, "enabled": true})
    );
    assert_eq!(
        of("far").entry,
        json!({"url": "https://h/mcp", "enabled": false, "tools": {"exclude": ["a", "b"]},
               "headers": {"X": "${env:Y}"}})
    );
    assert_eq!(of("near").entry, json!({"url": "https://n/mcp"}));
    assert!(found.iter().all(|found| found.notes.is_empty()), "{found:?}");
}

#[test]
fn pasted_text_is_accepted_in_every_format() {
    for (text, name) in [
        (r#"{"command": "x"}"#, ""),
        (r#""s": {"command": "x"}"#, "s"),
        (r#""s": {"command": "x"},"#, "s"),
        (r#"{"s": {"command": "x"}}"#, "s"),
        (r#"{"mcpServers": {"s": {"command": "x"}}}"#, "s"),
        (r#""mcpServers": {"s": {"command": "x"}}"#, "s"),
        (r#"{"servers": {"s": {"command": "x"}}}"#, "s"),
        (r#"{"mcp": {"servers": {"s": {"command": "x"}}}}"#, "s"),
        ("mcp_servers:\n  s:\n    command: x\n", "s"),
        ("s:\n  command: x\n", "s"),
        ("command: x\n", ""),
        ("[mcp_servers.s]\ncommand = \"x\"\n", "s"),
    ] {
        let found = one(Kind::Pasted, text);
        assert_eq!((found.name.as_str(), found.entry), (name, json!({"command": "x"})), "{text}");
    }
}

#[test]
fn native_keys_survive_pasting() {
    let text = "mcp_servers:\n  s:\n    url: https://h\n    tools: {include: [a]}\n    trust: untrusted\n    ssl_verify: false\n";
    let found = one(Kind::Pasted, text);
    assert_eq!(
        found.entry,
        json!({"url": "https://h", "tools": {"include": ["a"]}, "trust": "untrusted", "ssl_verify": false})
    );
}

#[test]
fn imported_entries_are_valid() {
    let found = at(
        Kind::ClaudeDesktop,
        "mcpServers",
        r#"{"command": "x", "args": ["a"], "type": "stdio"}"#,
    );
    let (_, problems) = parse_entry(&found.name, &found.entry, &Scope::default()).unwrap();
    assert_eq!(problems, []);
}

#[test]
fn unreadable_files_are_reported_without_quoting_them() {
    for (kind, text, expected) in [
        (Kind::Cursor, "{\n s3cret", ForeignError::NotJson { line: 2, column: 2 }),
        (Kind::Cursor, "{}", ForeignError::NoServers { expected: "`mcpServers`" }),
        (Kind::Codex, "a = 1\nb = s3cret", ForeignError::NotToml { line: 2 }),
        (Kind::Codex, "a = 1", ForeignError::NoServers { expected: "`mcp_servers`" }),
        (Kind::Pasted, "npx -y s3cret", ForeignError::NotUnderstood),
        (
            Kind::Pasted,
            "",
            ForeignError::NoServers {
                expected: "`mcpServers`, `servers` or `mcp_servers`, and the text is not a server \
                           entry either",
            },
        ),
    ] {
        let error = read(kind, text).unwrap_err();
        assert!(!error.to_string().contains("s3cret"));
        assert_eq!(error, expected, "{text}");
    }
}

#[test]
fn size_and_server_limits_are_enforced() {
    let large = " ".repeat(MAX_FOREIGN_BYTES + 1);
    assert_eq!(read(Kind::Cursor, &large), Err(ForeignError::TooLarge));
    let many: Vec<_> =
        (0..=MAX_FOUND).map(|n| format!("\"s{n}\": {{\"command\": \"x\"}}")).collect();
    let text = format!("{{\"mcpServers\": {{{}}}}}", many.join(","));
    assert_eq!(read(Kind::Cursor, &text), Err(ForeignError::TooMany));
}

#[test]
fn debug_output_of_an_entry_shows_only_its_keys() {
    let found =
        at(Kind::ClaudeDesktop, "mcpServers", r#"{"command": "x", "env": {"K": "s3cret"}}"#);
    let shown = format!("{found:?}");
    assert!(shown.contains("env") && !shown.contains("s3cret"), "{shown}");
}

#[test]
fn pasted_entries_may_be_named_fenced_or_wrapped() {
    for text in [
        r#"{"name": "x", "command": "run"}"#,
        "```json\n{\"mcpServers\": {\"x\": {\"command\": \"run\"}}}\n```\n",
        r#"{"context_servers": {"x": {"command": "run"}}}"#,
    ] {
        let found = read(Kind::Pasted, text).unwrap();
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!((found[0].name.as_str(), &found[0].notes[..]), ("x", &[][..]), "{text}");
        assert_eq!(found[0].entry, serde_json::json!({"command": "run"}), "{text}");
    }
    let opencode = r#"{"mcp": {"x": {"type": "local", "command": ["run"]}}}"#;
    let error = read(Kind::Pasted, opencode).unwrap_err();
    assert_eq!(error, ForeignError::UnknownWrapper { wrapper: "mcp" });
}
