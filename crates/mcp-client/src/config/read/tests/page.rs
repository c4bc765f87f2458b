//! The page as it is committed, its example and its defaults.

use std::path::Path;

use super::*;

#[test]
fn the_committed_page_matches_the_table() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp-config.md");
    let text = std::fs::read_to_string(&committed).unwrap_or_default();
    if text != page() {
        let made = std::env::temp_dir().join("mcp-config.md");
        std::fs::write(&made, page()).unwrap();
        panic!("out of date: run `cp {} docs/mcp-config.md`", made.display());
    }
}

#[test]
fn the_documented_example_is_valid() {
    let page = page();
    let example = page.split("```").nth(1).unwrap().strip_prefix("yaml\n").unwrap();
    let mut scope = scope();
    for name in ["ISSUES_TOKEN", "KEY_PASSWORD"] {
        scope.secrets.insert(name.into(), "value".into());
    }
    let parsed = parse(example, &scope);
    assert_eq!(parsed.problems, []);
    assert_eq!(parsed.servers.len(), 4);
}

#[test]
fn documented_defaults_match_the_code() {
    for section in &schema().sections() {
        for key in section.keys.iter().filter(|key| !key.default.is_empty()) {
            let base = match kind_of(section, key) {
                Some("HTTP") => r#""url": "http://h", "auth": "oauth""#,
                _ => r#""command": "x""#,
            };
            let value = serde_json::from_str(&key.default)
                .unwrap_or_else(|_| serde_json::Value::from(key.default.as_str()));
            let mut with: serde_json::Value = serde_json::from_str(&format!("{{{base}}}")).unwrap();
            let without = with.clone();
            match section.name.as_str() {
                "" => with[&key.name] = value,
                name => with[name] = serde_json::json!({ &key.name: value }),
            }
            let read = |entry| {
                let (configured, problems) = parse_entry("s", entry, &scope()).unwrap();
                assert_eq!(problems, [], "{}", key.name);
                configured.entry
            };
            let (with, without) = (read(&with), read(&without));
            // Values that are decided at sign-in differ from values that are not set.
            let is_late =
                section.name == "oauth" && !["redirect_port", "flow"].contains(&key.name.as_str());
            assert_eq!(with == without, !is_late, "{}.{}", section.name, key.name);
        }
    }
}
