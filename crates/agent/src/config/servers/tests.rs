//! Edits of servers, and what they must not touch.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn file(text: &str) -> ServersFile {
    let root = Node::from_yaml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    ServersFile { path: "config.yaml".into(), text: text.to_owned(), root }
}

fn with_new(text: &str) -> String {
    let mut file = file(text);
    file.set("new", &json!({"command": "x"})).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    file.text
}

fn without(text: &str, name: &str) -> String {
    let mut file = file(text);
    file.remove(name).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    file.text
}

fn switched(text: &str, name: &str, enabled: bool) -> String {
    let mut file = file(text);
    let is_changed = file.set_enabled(name, enabled);
    assert!(is_changed.unwrap_or_else(|error| panic!("{error:?}\n{text}")), "{text}");
    file.text
}

#[test]
fn a_server_is_added_to_every_form_of_the_section() {
    let new = "  new:\n    command: x\n";
    for (before, after) in [
        ("", format!("mcp_servers:\n{new}")),
        ("# mine", format!("# mine\nmcp_servers:\n{new}")),
        ("---\n", format!("---\nmcp_servers:\n{new}")),
        ("model: x", format!("model: x\nmcp_servers:\n{new}")),
        ("model: x\n...\n", format!("model: x\nmcp_servers:\n{new}...\n")),
        ("mcp_servers:\nmodel: x\n", format!("mcp_servers:\n{new}model: x\n")),
        ("mcp_servers: ~ # none\nmodel: x\n", format!("mcp_servers: # none\n{new}model: x\n")),
        ("'mcp_servers' : {}\n", format!("'mcp_servers' :\n{new}")),
        (
            "mcp_servers:\n  a: {url: 'http://x'}\n  # last words\n\nmodel: x\n",
            format!("mcp_servers:\n  a: {{url: 'http://x'}}\n{new}  # last words\n\nmodel: x\n"),
        ),
        (
            "mcp_servers:\n  a:\n    url: x\n\n  # b\n  b:\n    url: y\n",
            format!("mcp_servers:\n  a:\n    url: x\n\n  # b\n  b:\n    url: y\n\n{new}"),
        ),
        (
            "mcp_servers:\n    a:\n        env:\n            X: |\n                # no comment\n",
            "mcp_servers:\n    a:\n        env:\n            X: |\n                # no comment\n    \
             new:\n        command: x\n"
                .to_owned(),
        ),
        (
            "mcp_servers:\r\n  a:\r\n    url: x\r\n",
            "mcp_servers:\r\n  a:\r\n    url: x\r\n  new:\r\n    command: x\r\n".to_owned(),
        ),
        (
            "mcp_servers: {a: {url: x}}\n",
            "mcp_servers: {\"new\": {\"command\":\"x\"}, a: {url: x}}\n".to_owned(),
        ),
        (
            "{\"model\": \"x\"}",
            "{\"mcp_servers\": {\"new\":{\"command\":\"x\"}}, \"model\": \"x\"}".to_owned(),
        ),
        ("{}", "{\"mcp_servers\": {\"new\":{\"command\":\"x\"}}}".to_owned()),
        (
            "{\n  \"mcp_servers\": {}\n}\n",
            "{\n  \"mcp_servers\": {\"new\": {\"command\":\"x\"}}\n}\n".to_owned(),
        ),
    ] {
        assert_eq!(with_new(before), after, "{before}");
    }
}

#[test]
fn multi_line_json_remains_multi_line() {
    let before = "{\n  \"mcp_servers\": {\n    \"a\": {\"url\": \"x\"}\n  }\n}\n";
    let after = with_new(before);
    insta::assert_snapshot!(after, @r#"
    {
      "mcp_servers": {
        "new": {
          "command": "x"
        },
        "a": {"url": "x"}
      }
    }
    "#);
    assert_eq!(without(&after, "new"), before);
    assert!(serde_json::from_str::<Json>(&after).is_ok(), "JSON stays JSON");
}

#[test]
fn a_server_is_removed_with_only_its_own_comments() {
    let text = "\
# head
mcp_servers: # all
  # of a
  a:
    command: x # cx
    # in a

  # apart

  # of b
  # more of b
  b: {command: y}
  # old:
  #   command: z
  c:
    command: w

# foot
model: x
";
    assert_eq!(
        without(text, "a"),
        text.replace("  # of a\n  a:\n    command: x # cx\n    # in a\n\n", "")
    );
    assert_eq!(
        without(text, "b"),
        text.replace("  # of b\n  # more of b\n  b: {command: y}\n", "")
    );
    assert_eq!(without(text, "c"), text.replace("  c:\n    command: w\n", ""));
}

#[test]
fn removing_the_last_server_leaves_an_empty_section_or_none() {
    for (before, after) in [
        ("mcp_servers:\n  a:\n    url: x\n", ""),
        ("model: x\nmcp_servers:\n  a:\n    url: x\n", "model: x\n"),
        ("mcp_servers:\n  a:\n    url: x\nmodel: x\n", "mcp_servers: {}\nmodel: x\n"),
        ("mcp_servers: # all\n  a:\n    url: x\n", "mcp_servers: {} # all\n"),
        ("mcp_servers:\n  # hm\n\n  a:\n    url: x\n", "mcp_servers: {}\n  # hm\n\n"),
        ("mcp_servers: \n  # old: \n  a:\n    url: x\n", "mcp_servers: {}\n  # old: \n"),
        ("mcp_servers: {a: {url: x}}\n", "mcp_servers: {}\n"),
    ] {
        assert_eq!(without(before, "a"), after, "{before}");
    }
}

#[test]
fn removing_from_a_flow_mapping_removes_the_comma() {
    let text = "mcp_servers: {a: {url: x, args: [1, 2]}, b: {url: 'y, }'}, c: {}}\n";
    assert_eq!(without(text, "a"), "mcp_servers: {b: {url: 'y, }'}, c: {}}\n");
    assert_eq!(without(text, "b"), "mcp_servers: {a: {url: x, args: [1, 2]}, c: {}}\n");
    assert_eq!(without(text, "c"), "mcp_servers: {a: {url: x, args: [1, 2]}, b: {url: 'y, }'}}\n");
}

#[test]
fn toggling_a_server_changes_a_word_or_adds_a_line() {
    for (before, after) in [
        (
            "mcp_servers:\n  a:\n    url: x\n    enabled: yes # why\n",
            "mcp_servers:\n  a:\n    url: x\n    enabled: false # why\n",
        ),
        (
            "mcp_servers:\n  a:\n    enabled: \"on\"\n    url: x\n",
            "mcp_servers:\n  a:\n    enabled: false\n    url: x\n",
        ),
        (
            "mcp_servers:\n  a: # c\n    # d\n    url: x\n",
            "mcp_servers:\n  a: # c\n    enabled: false\n    # d\n    url: x\n",
        ),
        ("mcp_servers:\n  a: {url: x}\n", "mcp_servers:\n  a: {\"enabled\": false, url: x}\n"),
        (
            "{\"mcp_servers\": {\"a\": {\"url\": \"x\", \"enabled\": true}}}",
            "{\"mcp_servers\": {\"a\": {\"url\": \"x\", \"enabled\": false}}}",
        ),
        (
            "d: &d\n  enabled: true\nmcp_servers:\n  a:\n    <<: *d\n    url: x\n",
            "d: &d\n  enabled: true\nmcp_servers:\n  a:\n    enabled: false\n    <<: *d\n    url: x\n",
        ),
    ] {
        assert_eq!(switched(before, "a", false), after, "{before}");
    }
    for text in ["a: {url: x}", "a: {enabled: ~}", "a: {enabled: 'yes'}", "a: {enabled: maybe}"] {
        let mut file = file(&format!("mcp_servers:\n  {text}\n"));
        assert!(!file.set_enabled("a", true).unwrap(), "{text} is enabled already");
    }
    for text in ["false", "0", "NO", "'off'"] {
        let mut file = file(&format!("mcp_servers:\n  a: {{enabled: {text}}}\n"));
        assert!(!file.set_enabled("a", false).unwrap(), "{text} is disabled already");
    }
}

#[test]
fn a_replaced_server_keeps_its_position_and_leading_comments() {
    for (before, after) in [
        (
            "mcp_servers:\n  # mine\n  a: # c\n    url: y\n  b:\n    url: z\n",
            "mcp_servers:\n  # mine\n  a:\n    command: x\n  b:\n    url: z\n",
        ),
        (
            "mcp_servers: {a: {url: y}, b: {url: z}}\n",
            "mcp_servers: {a: {\"command\":\"x\"}, b: {url: z}}\n",
        ),
    ] {
        let mut file = file(before);
        file.set("a", &json!({"command": "x"})).unwrap();
        assert_eq!(file.text, after);
    }
}

#[test]
fn entries_that_cannot_be_edited_safely_are_unchanged() {
    for (text, name) in [
        ("x: &x {a: {url: x}}\nmcp_servers: *x\n", "a"),
        ("mcp_servers:\n  a: &a\n    url: x\n  b: *a\n", "a"),
    ] {
        let mut file = file(text);
        assert!(file.remove(name).is_err(), "{text}\n{}", file.text);
        assert_eq!(file.text, text);
    }
    let text = "x: &x {a: {url: x}}\nmcp_servers: *x\n";
    let mut file = file(text);
    assert!(file.set("new", &json!({"url": "x"})).is_err());
    assert!(file.set("a", &json!({"url": "y"})).is_err());
    assert!(file.set_enabled("a", false).is_err(), "{}", file.text);
    assert_eq!(file.text, text);
}

/// A comment, or none.
fn comment() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "# [a-z:#'\"{} ]{0,12}"]
}

/// One server in block style: its lines after the name.
fn entry() -> impl Strategy<Value = Vec<String>> {
    let value = prop_oneof![
        Just("url: http://x/ # here".to_owned()),
        Just("command: 'it''s: #1'".to_owned()),
        Just("args: [a, \"}\", 'b, c']".to_owned()),
        Just("env:\n      A: |\n        # text\n        more\n      B: \"x # y\"".to_owned()),
        Just("args:\n    - -y\n    # deep\n    - b".to_owned()),
        Just("timeout: 30".to_owned()),
    ];
    let line = (value, comment()).prop_map(|(value, comment)| {
        let comment = if comment.is_empty() { comment } else { format!("\n    {comment}") };
        format!("    {value}{comment}")
    });
    proptest::collection::vec(line, 1..4).prop_map(|lines| {
        let mut seen = Vec::new();
        let mut kept = Vec::new();
        for line in lines {
            let key = line.trim().split(':').next().unwrap_or_default().to_owned();
            if !seen.contains(&key) {
                seen.push(key);
                kept.push(line);
            }
        }
        kept
    })
}

/// A configuration with servers `s0`, `s1` and so on between other things.
fn configuration() -> impl Strategy<Value = (String, usize)> {
    let server = (comment(), comment(), any::<bool>(), entry());
    let servers = proptest::collection::vec(server, 1..5);
    (comment(), servers, comment(), any::<bool>(), any::<bool>()).prop_map(
        |(head, servers, foot, has_more, is_windows)| {
            let mut text = format!("{head}\nmodel: x\nmcp_servers: {}\n", head.trim());
            for (n, (above, beside, is_apart, lines)) in servers.iter().enumerate() {
                if *is_apart {
                    text.push('\n');
                }
                if !above.is_empty() {
                    text.push_str(&format!("  {above}\n"));
                }
                text.push_str(&format!("  s{n}: {}\n{}\n", beside.trim(), lines.join("\n")));
            }
            if !foot.is_empty() {
                text.push_str(&format!("  {foot}\n"));
            }
            if has_more {
                text.push_str(&format!("\n{foot}\nother: [1, 2] # x\n"));
            }
            let text = if is_windows { text.replace('\n', "\r\n") } else { text };
            (text, servers.len())
        },
    )
}

/// The head of the section as it is when the section is empty.
fn section_head(line: &str) -> String {
    line.replace("mcp_servers:", "mcp_servers: {}").trim_end().to_owned()
}

proptest! {
    #[test]
    fn adding_and_removing_a_server_restores_the_text((text, _) in configuration()) {
        let added = with_new(&text);
        prop_assert_eq!(without(&added, "new"), text);
    }

    #[test]
    fn toggling_a_server_changes_one_line((text, count) in configuration(), which in any::<usize>()) {
        let name = format!("s{}", which % count);
        let off = switched(&text, &name, false);
        let lines: Vec<_> = off.lines().collect();
        let at = lines.iter().position(|line| line.trim() == "enabled: false").unwrap();
        let rest: Vec<_> = [&lines[..at], &lines[at + 1..]].concat();
        prop_assert_eq!(rest, text.lines().collect::<Vec<_>>());
        let on = switched(&off, &name, true);
        prop_assert_eq!(on, off.replace("enabled: false", "enabled: true"));
    }

    #[test]
    fn removing_keeps_the_other_servers((text, count) in configuration(), which in any::<usize>()) {
        let name = format!("s{}", which % count);
        let before = file(&text);
        let after = file(&without(&text, &name));
        prop_assert!(after.entry(&name).is_none());
        for other in before.names().filter(|other| *other != name) {
            prop_assert_eq!(before.entry(other), after.entry(other));
        }
        let kept: Vec<_> = after.text.lines().filter(|line| !line.trim().is_empty()).collect();
        let mut all = text.lines();
        for line in kept {
            // The head of an empty section is the only line that is new.
            let is_old = all.any(|old| old == line || line == section_head(old));
            prop_assert!(is_old, "{:?} is new in\n{}", line, after.text);
        }
    }
}
