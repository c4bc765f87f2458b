//! Links that try to hide what they install, or have a name that looks like an option.

use serde_json::json;

use super::link;
use crate::command_line::bench;
use crate::mcp_config::terminal;

#[test]
fn nothing_in_a_link_hides_the_command() {
    let bench = bench();
    let code = format!("import os{}; os.system('x')", " ".repeat(4000));
    let many: Vec<String> = (0..900).map(|number| format!("--option{number}")).collect();
    let env = json!({"PIP_INDEX_URL": "http://x", "HTTPS_PROXY": "http://x", "MODE": "1"});
    for (config, wanted) in [
        (
            json!({"command": "python3", "args": ["-c", code], "env": env}),
            vec![
                "import os…(4000 spaces)…; os.system('x')",
                "variables that change which programs run or whom they trust: HTTPS_PROXY, \
                 PIP_INDEX_URL",
                "it may run code that is in its arguments: python",
            ],
        ),
        (json!({"command": "node", "args": many}), vec!["  node --option0 ", "characters)…"]),
    ] {
        let mut command = bench.command(["mcp", "install", &link("x", &config)]);
        let run = terminal::run(&mut command, "n\n");
        for wanted in wanted {
            assert!(run.stderr.contains(wanted), "{wanted}: {}", run.stderr);
        }
        // All cautions and the question are on one screen; the whole entry is above them.
        let (_, after) = run.stderr.split_once("\n    }\n").unwrap();
        let (shown, _) = after.split_once("Install it?").unwrap();
        let rows: usize = shown.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum();
        assert!(rows <= 20, "{rows} rows: {shown}");
    }
}

#[test]
fn a_name_that_begins_with_a_hyphen_can_be_used_as_recommended() {
    let bench = bench();
    let run = bench.run(["mcp", "install", "--yes", &link("-x", &json!({"command": "no-such"}))]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("`agent mcp test -- -x` tries it"), "{run:?}");
    let run = bench.run(["mcp", "test", "--", "-x"]);
    assert!(run.stderr.contains("server `-x`"), "{run:?}");
    let run = bench.run(["mcp", "disable", "--", "-x"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = bench.run(["mcp", "call", "--", "-x/tool", "{}"]);
    assert!(run.stderr.contains("`agent mcp enable -- -x`"), "{run:?}");
}
