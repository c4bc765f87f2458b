//! Positions, spellings and limits of the tree.

use super::*;

fn written(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".into(),
        Value::Bool(_, text) | Value::Number(_, text) | Value::String(text) => text.clone(),
        Value::List(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(" "))
        }
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| format!("{}={}", key.text, written(value)))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

#[test]
fn scalars_keep_their_notation() {
    for (yaml, expected) in [
        ("a: 1.10", "a=1.10"),
        (
            "a: [yes, 007, 0o17, 1e3, 12345678901234567890123, ~]",
            "a=[yes 007 0o17 1e3 12345678901234567890123 null]",
        ),
        ("a: \"007\"\n8080: x\ntrue: y", "a=007 8080=x true=y"),
        ("\u{feff}ä: 'ö'\nb: 1.50 # c", "ä=ö b=1.50"),
        ("a: &n 1.10\nb: *n", "a=1.10 b=1.10"),
        ("a: .inf", "a=.inf"),
        ("", "null"),
    ] {
        let node = Node::from_yaml(yaml).unwrap_or_else(|p| panic!("{yaml}: {p}"));
        assert_eq!(written(&node), expected, "{yaml}");
    }
}

#[test]
fn every_key_and_value_has_a_position() {
    let node = Node::from_yaml("a: 1\nb:\n  - x\n  -  y\n").unwrap_or_else(|p| panic!("{p}"));
    let Value::Map(entries) = &node.value else { panic!("{}", node.kind()) };
    assert_eq!(entries[1].0.position, Position { line: 2, column: 1 });
    let Value::List(items) = &entries[1].1.value else { panic!() };
    assert_eq!(items[1].position, Position { line: 4, column: 6 });
}

#[test]
fn duplicate_keys_are_preserved() {
    let node = Node::from_yaml("a: 1\nb: 2\na: 3\n").unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(written(&node), "a=1 b=2 a=3");
}

#[test]
fn syntax_errors_are_one_problem_without_the_text() {
    for text in ["a: [s3cret", "a: *s3cret", "a: \"s3cret", "\ta: s3cret\n b", "a: 's3cret'x"] {
        let problem = Node::from_yaml(text).err().unwrap_or_else(|| panic!("{text}"));
        assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
        assert!(!problem.to_string().contains("s3cret"), "{problem}");
    }
}

#[test]
fn oversized_and_too_deep_files_are_rejected() {
    let large = format!("a: {}", "x".repeat(MAX_CONFIG_BYTES));
    assert!(Node::from_yaml(&large).is_err());
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Node::from_yaml(&nested(MAX_DEPTH)).is_ok());
    assert!(Node::from_yaml(&nested(MAX_DEPTH + 1)).is_err());
    let nested = (0..MAX_DEPTH).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
    assert!(Node::from_json(&nested).is_none());
    let Json::Array(mut inner) = nested else { panic!() };
    assert!(Node::from_json(&inner.remove(0)).is_some());
}
