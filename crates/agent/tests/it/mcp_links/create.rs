//! `agent mcp link`: a configured server to give away, without its secrets.

use mcp_client::install_link;
use serde_json::{Value, json};

use crate::command_line::agent;
use crate::mcp_config::{configure, transcript};

const SERVERS: &str = "\
mcp_servers:
  files: # mine
    command: npx
    args: [-y, '@scope/files', '/home/ada/x', --token, s3cret-argument]
    env: {API_KEY: s3cret-variable, MODE: fast, OTHER: '${OTHER}'}
    cwd: ~/work
    enabled: false
    colour: red
  docs:
    url: http://localhost:8080/mcp?token=s3cret-query
    headers: {Authorization: Bearer s3cret-header, X-Key: '${KEY}'}
  open: {url: 'https://example.com/mcp', auth: oauth}
  moved: {url: '${URL}'}
  'odd name': {command: x}
";

#[test]
fn a_link_contains_no_secrets_and_lists_the_removed_ones() {
    let agent = agent();
    configure(&agent, SERVERS);
    let run = agent.run(["mcp", "link", "files"]);
    let offered = install_link::parse(&run.stdout).unwrap();
    assert_eq!(offered.name, "files");
    insta::assert_snapshot!(serde_json::to_string_pretty(&offered.config).unwrap(), @r#"
    {
      "args": [
        "-y",
        "@scope/files",
        "/home/ada/x",
        "--token",
        "${MCP_FILES_TOKEN}"
      ],
      "command": "npx",
      "cwd": "~/work",
      "env": {
        "API_KEY": "${MCP_FILES_API_KEY}",
        "MODE": "fast",
        "OTHER": "${OTHER}"
      }
    }
    "#);
    insta::assert_snapshot!(transcript(&agent, &run).replace(run.stdout.trim(), "[link]"), @r"
    exit code: 0
    ----- stdout -----
    [link]
    ----- stderr -----
    The secret of args is replaced by `${MCP_FILES_TOKEN}`.
    The secret of env.API_KEY is replaced by `${MCP_FILES_API_KEY}`.
    note: colour: unknown key, left out
    note: args: `/home/ada/x` is a path on this machine
    note: cwd: `~/work` is a path on this machine
    ");
    let run = agent.run(["mcp", "link", "docs", "--json"]);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    let offered = install_link::parse(told["link"].as_str().unwrap()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&offered.config).unwrap(), @r#"
    {
      "headers": {
        "Authorization": "Bearer ${MCP_DOCS_AUTHORIZATION}",
        "X-Key": "${KEY}"
      },
      "url": "http://localhost:8080/mcp?token=${MCP_DOCS_TOKEN}"
    }
    "#);
    let made = told["link"].as_str().unwrap();
    insta::assert_snapshot!(transcript(&agent, &run).replace(made, "[link]"), @r#"
    exit code: 0
    ----- stdout -----
    {
      "link": "[link]",
      "name": "docs",
      "notes": [
        "url: the address is local to this machine"
      ],
      "replaced_secrets": [
        {
          "key": "headers.Authorization",
          "server": "docs",
          "variable": "MCP_DOCS_AUTHORIZATION"
        },
        {
          "key": "url",
          "server": "docs",
          "variable": "MCP_DOCS_TOKEN"
        }
      ]
    }
    ----- stderr -----
    "#);
}

#[test]
fn an_exported_link_can_be_installed() {
    let (here, there) = (agent(), agent());
    configure(&here, SERVERS);
    let made = here.run(["mcp", "link", "open"]);
    assert_eq!((made.code, &*made.stderr), (0, ""), "{made:?}");
    let run = there.run(["mcp", "install", "--yes", "--json", made.stdout.trim()]);
    assert_eq!(run.code, 0, "{run:?}");
    let again = there.run(["mcp", "link", "open"]);
    assert_eq!(again.stdout, made.stdout);
    let offered = install_link::parse(&made.stdout).unwrap();
    let entry = json!({"url": "https://example.com/mcp", "auth": "oauth"});
    assert_eq!(Value::Object(offered.config), entry);
}

#[test]
fn unlinkable_servers_are_reported() {
    let agent = agent();
    configure(&agent, SERVERS);
    insta::assert_snapshot!(transcript(&agent, &agent.run(["mcp", "link", "moved"])), @"
    exit code: 3
    ----- stdout -----
    ----- stderr -----
    error: invalid configuration of server `moved`
      cause: moved: url: must be an http or https URL with a host: it does not start with `http://` or `https://`
    ");
    insta::assert_snapshot!(transcript(&agent, &agent.run(["mcp", "link", "odd name"])), @"
    exit code: 3
    ----- stdout -----
    ----- stderr -----
    error: cannot create an install link for `odd name`
      cause: `name` must be set exactly once, to 1 to 64 letters, digits, dots, underscores and hyphens
    ");
    insta::assert_snapshot!(transcript(&agent, &agent.run(["mcp", "link", "fils"])), @r"
    exit code: 3
    ----- stdout -----
    ----- stderr -----
    error: unknown server `fils`
      hint: did you mean `files`?
      hint: configured servers: files, docs, open, moved, odd name
    ");
}
