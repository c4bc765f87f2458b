//! Tests of `yaml`.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use settings::Node;

fn written(entry: &Json) -> String {
    server("a", entry, 0, 2).join("\n") + "\n"
}

fn read_back(text: &str) -> Json {
    Node::from_yaml(text).unwrap().get("a").unwrap().to_json()
}

#[test]
fn entries_are_written_in_idiomatic_yaml() {
    let entry = json!({
        "env": {"TOKEN": "${TOKEN}", "MODE": "yes", "PORT": "8080", "NOTE": "a: b # c"},
        "args": ["-y", "@scope/server", "--root", "C:\\x", "", "~", "1.0", "it's \"so\""],
        "command": "npx",
        "timeout": 30,
        "tools": {"include": []},
        "cwd": "line one\nline two\n",
    });
    insta::assert_snapshot!(written(&entry), @r#"
    a:
      command: npx
      args:
        - -y
        - "@scope/server"
        - --root
        - 'C:\x'
        - ""
        - "~"
        - "1.0"
        - "it's \"so\""
      env:
        MODE: "yes"
        NOTE: "a: b # c"
        PORT: "8080"
        TOKEN: ${TOKEN}
      cwd: |
        line one
        line two
      timeout: 30
      tools:
        include: []
    "#);
    assert_eq!(read_back(&written(&entry)), entry);
}

#[test]
fn ambiguous_yaml_scalars_are_quoted() {
    for text in [
        "", "~", "null", "Yes", "OFF", "y", "1", "-1", "+1", "1.0", ".5", "1e3", "0x1f", "0o17",
        "1_000", "12:30:45", "2026-07-28", ".inf", "-.INF", ".nan", "- a", "-", "---", "...",
        "a: b", "a #b", "a:", " a", "a ", "#a", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
        "{a}", "[a]", "a\nb", "a\tb", "\u{85}", "\u{2028}", "\u{feff}", "\u{0}", "?", "? a", "=",
        "<<", "'", "\"", "\\", "'\"\\", "a,b]",
    ] {
        let entry = json!({ "k": text, "l": [text], "env": { text: text } });
        assert_eq!(read_back(&written(&entry)), entry, "{text:?}\n{}", written(&entry));
        assert!(!written(&entry).contains(&format!("k: {text}\n")), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_value_round_trips(
        text in "([ -~]|[\n\t\r:#\"'\\\\-]|\\PC){0,24}",
        lines in "([a-z #:-]{0,6}\n){0,4}[a-z #]{0,4}",
    ) {
        let entry = json!({"s": text, "l": [lines, [text]], "m": {text.clone(): lines}});
        prop_assert_eq!(read_back(&written(&entry)), entry);
    }
}
