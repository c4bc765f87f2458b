//! Secrets given literally go to the profile's `.env`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{configuration, configure, env_file, transcript};
use crate::command_line::bench;

#[test]
fn a_literal_secret_is_kept_in_the_env_file() {
    let bench = bench();
    configure(&bench, "");
    fs::write(bench.home().join(".env"), "# mine\nOTHER=1 # x").unwrap();
    let run = bench.run([
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
    insta::assert_snapshot!(transcript(&bench, &run), @r"
    exit code: 0
    ----- stdout -----
    Added my.api: https://example.com/mcp (with the headers Authorization, X-Team)
    ----- stderr -----
    The secret of my.api (headers.Authorization) is kept as MCP_MY_API_AUTHORIZATION in [home]/.env.
    Written to [home]/config.yaml; `agent mcp test my.api` tries it.
    ");
    insta::assert_snapshot!(configuration(&bench), @r"
    mcp_servers:
      my.api:
        url: https://example.com/mcp
        headers:
          Authorization: Bearer ${MCP_MY_API_AUTHORIZATION}
          X-Team: red
    ");
    assert_eq!(env_file(&bench), "# mine\nOTHER=1 # x\nMCP_MY_API_AUTHORIZATION=abcdef123456\n");
    // The same name with another value does not change what is there.
    let run = bench.run([
        "mcp",
        "add",
        "my-api",
        "--json",
        "--env",
        "AUTHORIZATION=two words",
        "--env",
        "PAT=ghp_0123456789abcdef",
        "--env",
        "KEPT_TOKEN=${KEPT}",
        "--",
        "x",
    ]);
    insta::assert_snapshot!(transcript(&bench, &run), @r#"
    exit code: 0
    ----- stdout -----
    {
      "added": [
        {
          "kind": "stdio",
          "name": "my-api",
          "notes": [
            "my-api: env.KEPT_TOKEN: the variable `KEPT` is not set; its placeholder is kept (set it in the profile's `.env` or in the environment)"
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
      ]
    }
    ----- stderr -----
    note: my-api: env.KEPT_TOKEN: the variable `KEPT` is not set; its placeholder is kept (set it in the profile's `.env` or in the environment)
    "#);
    assert!(env_file(&bench).ends_with(
        "MCP_MY_API_AUTHORIZATION_2='two words'\nMCP_MY_API_PAT=ghp_0123456789abcdef\n"
    ));
    let told = run.transcript();
    assert!(!told.contains("two words") && !told.contains("ghp_"), "{told}");
    let run = bench.run(["mcp", "remove", "my.api", "--yes"]);
    insta::assert_snapshot!(transcript(&bench, &run), @r"
    exit code: 0
    ----- stdout -----
    Removed my.api.
    ----- stderr -----
    Its secrets stay in [home]/.env.
    ");
}

#[test]
fn a_new_env_file_is_for_its_owner_alone() {
    let bench = bench();
    let run = bench.run(["mcp", "add", "a", "--env", "API_KEY=s3cret99", "--", "x"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for name in [".env", "config.yaml", ".config.lock"] {
        let mode = fs::metadata(bench.home().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(!configuration(&bench).contains("s3cret99"));
}

#[test]
fn a_literal_can_be_kept() {
    let bench = bench();
    let run =
        bench.run(["mcp", "add", "a", "--keep-literal", "--env", "API_KEY=s3cret99", "--", "x"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(configuration(&bench).contains("API_KEY: s3cret99\n"));
    assert!(!bench.home().join(".env").exists());
}

#[test]
fn secrets_in_other_places_are_told() {
    let bench = bench();
    let run = bench.run(["mcp", "add", "a", "--url", "https://example.com/mcp?api_key=s3cret99"]);
    insta::assert_snapshot!(transcript(&bench, &run), @r"
    exit code: 0
    ----- stdout -----
    Added a: https://example.com/mcp?api_key=[hidden]
    ----- stderr -----
    note: a: url: a secret stands there in clear; put it into `.env` and write `${NAME}`
    Written to [home]/config.yaml; `agent mcp test a` tries it.
    ");
}
