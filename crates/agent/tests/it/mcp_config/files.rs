//! The file itself: broken ones, links, rights, other forms, and many editors at once.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{configuration, configure, plain, transcript};
use crate::command_line::agent;

/// How many editors there are at once.
const EDITORS: usize = 8;

#[test]
fn concurrent_edits_are_all_applied() {
    let agent = agent();
    configure(&agent, "# mine\n");
    let add = |n: usize| {
        let (name, key) = (format!("s{n}"), format!("API_KEY=s3cret-{n}"));
        agent.command(["mcp", "add", &name, "--quiet", "--env", &key, "--", "x"]).spawn().unwrap()
    };
    let children: Vec<_> = (0..EDITORS).map(add).collect();
    let metrics = agent.command(["metrics", "on", "--json"]).output().unwrap();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(metrics.status.success());
    let text = configuration(&agent);
    let secrets = super::env_file(&agent);
    for n in 0..EDITORS {
        assert!(text.contains(&format!("\n  s{n}:\n    command: x\n")), "{text}");
        assert!(secrets.contains(&format!("MCP_S{n}_API_KEY=s3cret-{n}\n")), "{secrets}");
    }
    assert!(text.starts_with("# mine\n") && text.contains("metrics:\n  mode: local\n"), "{text}");
}

#[test]
fn a_held_configuration_lock_times_out() {
    let agent = agent();
    configure(&agent, "");
    let lock = fs::File::create(agent.home().join(".config.lock")).unwrap();
    lock.lock().unwrap();
    let run = agent.run(["mcp", "add", "a", "--", "x"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r"
    exit code: 1
    ----- stdout -----
    ----- stderr -----
    error: another process is editing [home]/config.yaml
      hint: it holds [home]/.config.lock; try again when it has finished
    ");
    drop(lock);
    assert_eq!(agent.run(["mcp", "add", "a", "--", "x"]).code, 0);
}

#[test]
fn an_invalid_file_is_not_edited() {
    let agent = agent();
    let mut told = String::new();
    for text in [
        "model: [x\nmcp_servers:\n",
        "mcp_servers:\n  a:\n    url: x\n  a:\n    url: y\n",
        "mcp_servers: 5\n",
        "- a\n",
        "a: 1\n---\nb: 2\n",
    ] {
        configure(&agent, text);
        for arguments in [
            &["mcp", "add", "b", "--", "x"][..],
            &["mcp", "remove", "a", "--yes"],
            &["mcp", "import"],
        ] {
            let run = agent.run(arguments);
            assert_eq!(run.code, 3, "{text}{}", run.stderr);
        }
        let run = agent.run(["mcp", "disable", "a"]);
        told.push_str(&plain(&agent, &run.stderr));
        assert_eq!(configuration(&agent), text);
    }
    insta::assert_snapshot!(told, @"
    error: invalid configuration at [home]/config.yaml:2:12
      cause: illegal placement of ':' indicator
      hint: fix it first; nothing was changed
    error: invalid configuration at [home]/config.yaml:4:3
      cause: duplicate key `a`
      hint: fix it first; nothing was changed
    error: [home]/config.yaml:1:14: `mcp_servers` must be a mapping from names to servers
      hint: fix it first; nothing was changed
    error: invalid configuration at [home]/config.yaml:1:1
      cause: the file must be a mapping, found a list
      hint: fix it first; nothing was changed
    error: invalid configuration at [home]/config.yaml:3:1
      cause: the file contains more than one document
      hint: fix it first; nothing was changed
    ");
}

#[test]
fn an_uneditable_file_is_reported_with_the_text_to_add() {
    let agent = agent();
    let text = "x: &x\n  a:\n    url: http://x/\nmcp_servers: *x\n";
    configure(&agent, text);
    let run = agent.run(["mcp", "add", "b", "--env", "API_KEY=s3cret99", "--", "y", "1"]);
    insta::assert_snapshot!(transcript(&agent, &run), @r#"
    exit code: 3
    ----- stdout -----
    ----- stderr -----
    error: cannot edit [home]/config.yaml without damaging the rest of it
      hint: add this under `mcp_servers:` yourself:
      b:
        command: "y"
        args:
          - "1"
        env:
          API_KEY: ${MCP_B_API_KEY}
    "#);
    assert_eq!(configuration(&agent), text);
    assert!(!agent.home().join(".env").exists(), "no half of it is written");
}

#[test]
fn symlinks_and_permissions_are_kept() {
    let agent = agent();
    fs::create_dir_all(agent.home()).unwrap();
    for name in ["config.yaml", ".env"] {
        let real = agent.work().join(format!("real-{name}"));
        fs::write(&real, "# mine\n").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, agent.home().join(name)).unwrap();
    }
    let run = agent.run(["mcp", "add", "a", "--env", "API_KEY=s3cret99", "--", "x"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for name in ["config.yaml", ".env"] {
        assert!(agent.home().join(name).is_symlink());
        let real = agent.work().join(format!("real-{name}"));
        let text = fs::read_to_string(&real).unwrap();
        assert!(text.starts_with("# mine\n") && text.contains("API_KEY"), "{text}");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }
}

#[test]
fn json_and_flow_style_are_edited() {
    let agent = agent();
    for before in [
        "{\n  \"model\": \"x\",\n  \"mcp_servers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n",
        "mcp_servers: {a: {command: x}} # all\n",
    ] {
        configure(&agent, before);
        assert_eq!(agent.run(["mcp", "add", "b", "--url", "http://x/"]).code, 0);
        assert_eq!(agent.run(["mcp", "disable", "a"]).code, 0);
        assert_eq!(agent.run(["mcp", "remove", "b", "--yes"]).code, 0);
        let after = before.replace("{\"command\"", "{\"enabled\": false, \"command\"");
        let after = after.replace("{command", "{\"enabled\": false, command");
        assert_eq!(configuration(&agent), after);
    }
}

#[test]
fn a_profile_has_its_own_servers() {
    let agent = agent();
    assert_eq!(agent.run(["mcp", "add", "a", "--profile", "work", "--", "x"]).code, 0);
    assert!(!agent.home().join("config.yaml").exists());
    assert!(agent.home().join("profiles/work/config.yaml").exists());
}
