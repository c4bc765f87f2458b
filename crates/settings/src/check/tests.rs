//! The two kinds of strictness, side by side.

use serde_json::json;

use super::*;
use crate::scope::Scope;

fn scope() -> Scope {
    let map = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    };
    Scope {
        secrets: map(&[("BLANK", ""), ("PADDED", " x "), ("PORT", "8080")]),
        home: Some("/home/ada".into()),
        ..Scope::default()
    }
}

/// The value of `a` by its schema, and the problems.
fn value(strictness: Strictness, yaml: &str, schema: &Json) -> (Json, Vec<String>) {
    let scope = scope();
    let root = Node::from_yaml(&format!("a: {yaml}")).unwrap_or_else(|problem| panic!("{problem}"));
    let schema = json!({"type": "object", "properties": {"a": schema}, "x-order": ["a"]});
    let mut reader = Reader::new(&scope, None, strictness);
    let read = reader.value(&schema, &Field::of(&root));
    (read.unwrap_or_default()["a"].clone(), messages(reader))
}

fn messages(reader: Reader<'_>) -> Vec<String> {
    let problems = reader.finish().0;
    let words = problems.iter().map(|problem| {
        let severity = if problem.is_error() { "error" } else { "warning" };
        format!("{severity} {problem}")
    });
    words.collect()
}

/// The problems of a value with each strictness.
#[track_caller]
fn said(yaml: &str, schema: &Json, lenient: &[&str], strict: &[&str]) {
    assert_eq!(value(Strictness::Lenient, yaml, schema).1, lenient, "{yaml}");
    assert_eq!(value(Strictness::Strict, yaml, schema).1, strict, "{yaml}");
}

fn name() -> Json {
    json!({"type": "string", "x-wanted": "a name"})
}

#[test]
fn a_switch_is_a_boolean_or_a_boolean_word() {
    let flag = json!({"type": "boolean", "default": true});
    for (yaml, expected) in
        [("off", json!(false)), ("\"0\"", json!(false)), ("YES", json!(true)), ("~", json!(null))]
    {
        assert_eq!(value(Strictness::Strict, yaml, &flag), (expected, vec![]), "{yaml}");
    }
    said(
        "maybe",
        &flag,
        &["warning 1:4: a: must be true, 1, yes, on, false, 0, no or off, found `maybe`; using \
           true"],
        &["error 1:4: a: must be true, 1, yes, on, false, 0, no or off, found `maybe`"],
    );
}

#[test]
fn a_duration_is_seconds_with_an_optional_unit() {
    let seconds = json!({"type": "number", "format": "seconds", "x-unit": 1, "exclusiveMinimum": 0, "default": 9});
    assert_eq!(value(Strictness::Strict, "1.5", &seconds), (json!(1.5), vec![]));
    assert_eq!(value(Strictness::Strict, "\"2\"", &seconds), (json!(2), vec![]));
    for (yaml, expected) in [("90s", 90.0), ("1.5m", 90.0), ("2h", 7200.0), ("30d", 2_592_000.0)] {
        let (read, problems) = value(Strictness::Strict, yaml, &seconds);
        assert_eq!((read.as_f64(), problems), (Some(expected), vec![]), "{yaml}");
    }
    let hours = json!({"type": "integer", "x-unit": 3600, "minimum": 1, "maximum": 720});
    assert_eq!(value(Strictness::Strict, "2d", &hours), (json!(48), vec![]));
    assert_eq!(value(Strictness::Strict, "90m", &hours), (json!(1.5), vec![]));
    said(
        "20m",
        &hours,
        &["warning 1:4: a: must be a whole number from 1 to 720; the value is ignored"],
        &["error 1:4: a: must be a whole number from 1 to 720"],
    );
    said(
        "0",
        &seconds,
        &["warning 1:4: a: must be more than 0 seconds; using 9"],
        &["error 1:4: a: must be more than 0 seconds"],
    );
    said(
        "-1",
        &seconds,
        &["warning 1:4: a: must be a number greater than or equal to 0, found `-1`; using 9"],
        &["error 1:4: a: must be a number greater than or equal to 0, found `-1`"],
    );
    said(
        "1e9",
        &seconds,
        &["warning 1:4: a: is more than one year; using 31536000"],
        &["error 1:4: a: is more than one year"],
    );
    said(
        "[1]",
        &seconds,
        &["warning 1:4: a: must be a number, found a list; using 9"],
        &["error 1:4: a: must be a number, found a list"],
    );
}

#[test]
fn integers_are_exact_and_within_bounds() {
    let whole = |least: u64, most: u64| json!({"type": "integer", "minimum": least, "maximum": most, "default": 7});
    let large = whole(1, 9_007_199_254_740_992);
    for (yaml, expected) in
        [("9007199254740991", 9_007_199_254_740_991_u64), ("\"12\"", 12), ("1e3", 1000)]
    {
        assert_eq!(value(Strictness::Strict, yaml, &large), (json!(expected), vec![]), "{yaml}");
    }
    for yaml in ["0", "1.5", "1e300"] {
        said(
            yaml,
            &large,
            &["warning 1:4: a: must be a whole number from 1 to 9007199254740992; using 7"],
            &["error 1:4: a: must be a whole number from 1 to 9007199254740992"],
        );
    }
    let small = whole(0, u16::MAX.into());
    assert_eq!(value(Strictness::Strict, "\"${PORT}\"", &small), (json!(8080), vec![]));
}

#[test]
fn an_enum_value_must_be_known() {
    let word = json!({"type": "string", "enum": ["json", "text"], "default": "json"});
    assert_eq!(value(Strictness::Strict, "TEXT", &word), (json!("text"), vec![]));
    said(
        "yaml",
        &word,
        &["warning 1:4: a: must be one of `json`, `text`, found `yaml`; using `json`"],
        &["error 1:4: a: must be one of `json`, `text`, found `yaml`"],
    );
}

#[test]
fn strict_mode_reports_only_the_unset_variable() {
    let number = json!({"type": "integer", "minimum": 0, "maximum": 9, "default": 7});
    said(
        "\"${A}${B}\"",
        &number,
        &[
            "warning 1:4: a: the variable `A` is not set; its placeholder is kept (set it in the \
             profile's `.env` file or in the environment)",
            "warning 1:4: a: the variable `B` is not set; its placeholder is kept (set it in the \
             profile's `.env` file or in the environment)",
            "warning 1:4: a: must be a number, found `${A}${B}`; using 7",
        ],
        &[
            "error 1:4: a: the variable `A` is not set (set it in the profile's `.env` file or in \
             the environment)",
            "error 1:4: a: the variable `B` is not set (set it in the profile's `.env` file or in \
             the environment)",
        ],
    );
}

#[test]
fn strict_mode_reports_an_empty_variable_once() {
    said(
        "${BLANK}",
        &name(),
        &[
            "warning 1:4: a: the variable `BLANK` is set but empty",
            "error 1:4: a: must be a name, but its variables are empty",
        ],
        &["error 1:4: a: the variable `BLANK` is set but empty"],
    );
    let both =
        &["warning 1:4: a: the value of the variable `PADDED` starts or ends with whitespace"];
    said("${PADDED}", &name(), both, both);
}

#[test]
fn non_strings_are_rejected() {
    for (yaml, found) in [("5", "a number"), ("[x]", "a list"), ("\" \"", "an empty string")] {
        let words = format!("error 1:4: a: must be a name, found {found}");
        said(yaml, &name(), &[&words], &[&words]);
    }
}

#[test]
fn a_string_list_may_be_a_single_string() {
    let strings = json!({"type": "array", "items": {"type": "string", "x-scalar": true}});
    assert_eq!(value(Strictness::Strict, "x", &strings), (json!(["x"]), vec![]));
    assert_eq!(
        value(Strictness::Strict, "[x, {}, 1.10]", &strings),
        (
            json!(["x", "1.10"]),
            vec!["error 1:8: a[1]: must be a string, found a mapping".to_owned()]
        )
    );
}

#[test]
fn a_path_expands_the_home_directory() {
    let path = json!({"type": "string", "format": "path"});
    assert_eq!(value(Strictness::Strict, "~/x", &path), (json!("/home/ada/x"), vec![]));
}

#[test]
fn quoted_values_are_short_and_on_one_line() {
    assert_eq!(quoted("a\nb"), "`a\\nb`");
    assert_eq!(quoted(&"x".repeat(99)), format!("`{}…`", "x".repeat(40)));
}

fn read(strictness: Strictness, text: &str) -> Vec<String> {
    let scope = Scope::default();
    let root = Node::from_yaml(text).unwrap_or_else(|problem| panic!("{problem}"));
    let any = json!({});
    let schema = json!({
        "type": "object",
        "properties": {"listen": any, "limits": any},
        "x-order": ["listen", "limits"],
    });
    let mut reader = Reader::new(&scope, None, strictness);
    let field = Field { key: "top".to_owned(), ..Field::of(&root) };
    reader.value(&schema, &field);
    reader.finish().0.iter().map(ToString::to_string).collect()
}

#[test]
fn unknown_keys_are_reported_with_a_suggestion() {
    let text = "listen: 1\nLis-ten: 2\nzzz: 3\n";
    assert_eq!(
        read(Strictness::Lenient, text),
        [
            "2:1: top.Lis-ten: is not a known key and is ignored (did you mean `listen`?)",
            "3:1: top.zzz: is not a known key and is ignored",
        ]
    );
    assert_eq!(
        read(Strictness::Strict, text),
        [
            "2:1: top.Lis-ten: is not a known key (did you mean `listen`?)",
            "3:1: top.zzz: is not a known key (known keys: `listen`, `limits`)",
        ]
    );
}

#[test]
fn a_duplicate_key_names_both_lines() {
    assert_eq!(
        read(Strictness::Strict, "listen: 1\nlisten: 2\n"),
        ["2:1: top.listen: `listen` is set twice, in lines 1 and 2 (remove one of them)"]
    );
}

#[test]
fn a_key_without_a_value_is_unset() {
    assert_eq!(value(Strictness::Strict, "", &name()), (json!(null), vec![]));
}
