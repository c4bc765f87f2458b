//! `agent mcp remove`, `enable` and `disable`.

use super::{configuration, configure, terminal, transcript};
use crate::command_line::agent;

const SERVERS: &str = "mcp_servers:\n  # about files\n  files:\n    command: x # cx\n  docs:\n    url: http://x/\n  # apart\n\n  time:\n    command: y\n    enabled: no # for now\n";

#[test]
fn servers_are_removed_with_their_comments() {
    let agent = agent();
    configure(&agent, SERVERS);
    let run = agent.run(["mcp", "remove", "files", "time", "files", "--yes"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Removed files.
    Removed time.
    ----- stderr -----
    ");
    assert_eq!(configuration(&agent), "mcp_servers:\n  docs:\n    url: http://x/\n  # apart\n");
    let run = agent.run(["mcp", "remove", "docs", "--yes", "--json"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r#"
    exit code: 0
    ----- stdout -----
    {
      "file": "[home]/config.yaml",
      "removed": [
        "docs"
      ],
      "secrets_kept": false,
      "signed_out": []
    }
    ----- stderr -----
    "#);
    assert_eq!(configuration(&agent), "mcp_servers: {}\n  # apart\n");
}

#[test]
fn removal_needs_confirmation() {
    let agent = agent();
    configure(&agent, SERVERS);
    let run = agent.run(["mcp", "remove", "files"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 1
    ----- stdout -----
    ----- stderr -----
    error: removing files needs confirmation, but no terminal is attached
      hint: confirm with `--yes`
    ");
    let run = terminal::run(&mut agent.command(["mcp", "remove", "files", "docs"]), "\n");
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    ----- stderr -----
    Remove files, docs? [y/N] Nothing was removed.
    ");
    assert_eq!(configuration(&agent), SERVERS);
    let run = terminal::run(&mut agent.command(["mcp", "remove", "files", "docs"]), "yes\n");
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Removed files.
    Removed docs.
    ----- stderr -----
    Remove files, docs? [y/N]
    ");
    assert!(configuration(&agent).starts_with("mcp_servers:\n  # apart\n"));
}

#[test]
fn enabling_and_disabling_keeps_the_rest_of_the_file() {
    let agent = agent();
    configure(&agent, SERVERS);
    let run = agent.run(["mcp", "disable", "files", "time"]);
    insta::assert_snapshot!(transcript(&agent, &run), @"
    exit code: 0
    ----- stdout -----
    time is already disabled.
    files is now disabled.
    ----- stderr -----
    ");
    let off = SERVERS.replace("  files:\n", "  files:\n    enabled: false\n");
    assert_eq!(configuration(&agent), off);
    let run = agent.run(["mcp", "enable", "files", "time", "docs", "--json"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r#"
    exit code: 0
    ----- stdout -----
    {
      "enabled": [
        "files",
        "time"
      ],
      "file": "[home]/config.yaml",
      "unchanged": [
        "docs"
      ]
    }
    ----- stderr -----
    "#);
    let on = off.replace("enabled: false", "enabled: true").replace("enabled: no", "enabled: true");
    assert_eq!(configuration(&agent), on);
}

#[test]
fn an_unknown_name_is_reported_with_the_configured_ones() {
    let agent = agent();
    let run = agent.run(["mcp", "disable", "files"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 1
    ----- stdout -----
    ----- stderr -----
    error: unknown server `files`
      hint: no servers are configured; add one with `agent mcp add`
    ");
    assert!(!agent.home().exists(), "nothing is made");
    configure(&agent, SERVERS);
    for command in ["enable", "disable", "remove"] {
        let run = agent.run(["mcp", command, "time", "flies"]);
        assert_eq!(run.code, 1);
        assert!(
            run.stderr.contains("hint: configured servers: files, docs, time"),
            "{}",
            run.stderr
        );
    }
    let run = agent.run(["mcp", "enable", "flies"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 1
    ----- stdout -----
    ----- stderr -----
    error: unknown server `flies`
      hint: did you mean `files`?
      hint: configured servers: files, docs, time
    ");
    assert_eq!(configuration(&agent), SERVERS);
}
