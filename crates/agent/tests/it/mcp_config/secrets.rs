//! Secrets given literally go to the profile's `.env`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{configuration, configure, env_file, transcript};
use crate::command_line::agent;

#[test]
fn a_literal_secret_is_moved_to_the_env_file() {
    let agent = agent();
    configure(&agent, "");
    let path = agent.home().join(".env");
    fs::write(&path, "# mine\nOTHER=1 # x").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let run = agent.run([
        "mcp",
        "add",
        "my.api",
        "--url",
        "https://example.com/mcp",
        "--header",
        "Authorization: Bearer abcdef123456",
        "--header",
        "X-Team: red",
    ]);
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Added my.api: https://example.com/mcp (with the headers Authorization, X-Team)
    ----- stderr -----
    The secret of my.api (headers.Authorization) is stored as MCP_MY_API_AUTHORIZATION in [home]/.env.
    Saved to [home]/config.yaml. Test it with `agent mcp test my.api`.
    ");
    insta::assert_snapshot!(configuration(&agent), @r"
    mcp_servers:
      my.api:
        url: https://example.com/mcp
        headers:
          Authorization: Bearer ${MCP_MY_API_AUTHORIZATION}
          X-Team: red
    ");
    assert_eq!(env_file(&agent), "# mine\nOTHER=1 # x\nMCP_MY_API_AUTHORIZATION=abcdef123456\n");
    let run = agent.run(["mcp", "remove", "my.api", "--yes"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Removed my.api.
    ----- stderr -----
    Its secrets remain in [home]/.env.
    ");
}

#[test]
fn an_existing_variable_with_another_value_is_not_changed() {
    let agent = agent();
    configure(&agent, "");
    let path = agent.home().join(".env");
    fs::write(&path, "MCP_MY_API_AUTHORIZATION=abcdef123456\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let run = agent.run([
        "mcp", "add", "my-api", "--json", "--env", "AUTHORIZATION=two words", "--env",
        "PAT=ghp_0123456789abcdef", "--env", "KEPT_TOKEN=${KEPT}", "--", "x",
    ]);
    insta::assert_snapshot!(transcript(&agent, &run), @r#"
    exit code: 0
    ----- stdout -----
    {
      "added": [
        {
          "kind": "stdio",
          "name": "my-api",
          "notes": [
            "my-api: env.KEPT_TOKEN: the variable `KEPT` is not set; its placeholder is kept (set it in the profile's `.env` file or in the environment)"
          ],
          "replaced": false
        }
      ],
      "env_file": "[home]/.env",
      "file": "[home]/config.yaml",
      "moved_secrets": [
        {
          "key": "env.AUTHORIZATION",
          "server": "my-api",
          "variable": "MCP_MY_API_AUTHORIZATION_2"
        },
        {
          "key": "env.PAT",
          "server": "my-api",
          "variable": "MCP_MY_API_PAT"
        }
      ],
      "notes": []
    }
    ----- stderr -----
    "#);
    assert!(env_file(&agent).ends_with(
        "MCP_MY_API_AUTHORIZATION_2='two words'\nMCP_MY_API_PAT=ghp_0123456789abcdef\n"
    ));
    let told = run.transcript();
    assert!(!told.contains("two words") && !told.contains("ghp_"), "{told}");
}

#[test]
fn a_new_env_file_is_readable_only_by_the_owner() {
    let agent = agent();
    let run = agent.run(["mcp", "add", "a", "--env", "API_KEY=s3cret99", "--", "x"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for name in [".env", "config.yaml", ".config.lock"] {
        let mode = fs::metadata(agent.home().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(!configuration(&agent).contains("s3cret99"));
}

#[test]
fn literal_secrets_are_kept_on_request() {
    let agent = agent();
    let run =
        agent.run(["mcp", "add", "a", "--keep-literal", "--env", "API_KEY=s3cret99", "--", "x"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(configuration(&agent).contains("API_KEY: s3cret99\n"));
    assert!(!agent.home().join(".env").exists());
}

#[test]
fn secrets_in_arguments_and_urls_are_moved() {
    let agent = agent();
    let run =
        agent.run(["mcp", "add", "a", "--url", "https://example.com/mcp?api_key=s3cret99&b=c"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = agent.run([
        "mcp", "add", "b", "--", "npx", "mcp-remote", "https://x/", "--header",
        "Authorization: Bearer s3cret88", "--token=s3cret77", "--password", "s3cret66",
    ]);
    insta::assert_snapshot!(transcript(&agent, &run), @r#"
    exit code: 0
    ----- stdout -----
    Added b: npx mcp-remote https://x/ --header "Authorization: Bearer [hidden]" --token=[hidden] --password [hidden]
    ----- stderr -----
    The secret of b (args) is stored as MCP_B_AUTHORIZATION in [home]/.env.
    The secret of b (args) is stored as MCP_B_TOKEN in [home]/.env.
    The secret of b (args) is stored as MCP_B_PASSWORD in [home]/.env.
    Saved to [home]/config.yaml. Test it with `agent mcp test b`.
    "#);
    insta::assert_snapshot!(configuration(&agent), @r#"
    mcp_servers:
      a:
        url: "https://example.com/mcp?api_key=${MCP_A_API_KEY}&b=c"
      b:
        command: npx
        args:
          - mcp-remote
          - https://x/
          - --header
          - "Authorization: Bearer ${MCP_B_AUTHORIZATION}"
          - --token=${MCP_B_TOKEN}
          - --password
          - ${MCP_B_PASSWORD}
    "#);
    insta::assert_snapshot!(env_file(&agent), @r"
    MCP_A_API_KEY=s3cret99
    MCP_B_AUTHORIZATION=s3cret88
    MCP_B_TOKEN=s3cret77
    MCP_B_PASSWORD=s3cret66
    ");
}

#[test]
fn an_env_file_readable_by_others_gets_a_warning() {
    let agent = agent();
    configure(&agent, "");
    let path = agent.home().join(".env");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let run = agent.run(["mcp", "add", "a", "--env", "API_KEY=s3cret99", "--", "x"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Added a: x (with the variables API_KEY)
    ----- stderr -----
    The secret of a (env.API_KEY) is stored as MCP_A_API_KEY in [home]/.env.
    note: other users can read [home]/.env; protect it with `chmod 600 [home]/.env`
    Saved to [home]/config.yaml. Test it with `agent mcp test a`.
    ");
}

#[test]
fn secrets_are_detected_by_format_and_in_urls() {
    let agent = agent();
    let token = "xoxb-0123456789abcdef";
    let run = agent.run([
        "mcp", "add", "x", "--env", "DB=postgres://me:hunter22@db/x", "--env",
        "GITHUB_PAT=abcd12345", "--", "run", token,
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    for secret in [token, "hunter22", "abcd12345"] {
        assert!(!run.transcript().contains(secret), "{run:?}");
        assert!(!configuration(&agent).contains(secret), "{}", configuration(&agent));
        assert!(env_file(&agent).contains(secret), "{}", env_file(&agent));
    }
    assert!(configuration(&agent).contains("postgres://me:${MCP_X_"), "{}", configuration(&agent));
}
