//! The two manners of reading, side by side.

use super::*;
use crate::section::Section;

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

/// What `read` makes of the value of `a`, and what it says.
fn value<T>(
    manner: Manner,
    yaml: &str,
    read: impl Fn(&mut Reader<'_>, Option<Field<'_>>) -> T,
) -> (T, Vec<String>) {
    let scope = scope();
    let root = Node::from_yaml(&format!("a: {yaml}")).unwrap_or_else(|problem| panic!("{problem}"));
    let Value::Map(entries) = &root.value else { panic!("{}", root.kind()) };
    let mut reader = Reader::new(&scope, None, manner);
    let mut section = Section::open(&mut reader, "", entries);
    let value = read(&mut reader, section.take("a"));
    let problems = reader.finish().0;
    let words = problems.iter().map(|problem| {
        let severity = if problem.is_error() { "error" } else { "warning" };
        format!("{severity} {problem}")
    });
    (value, words.collect())
}

/// What is said about a value in each manner.
#[track_caller]
fn said<T>(
    yaml: &str,
    read: impl Fn(&mut Reader<'_>, Option<Field<'_>>) -> T,
    lenient: &[&str],
    strict: &[&str],
) {
    assert_eq!(value(Manner::Lenient, yaml, &read).1, lenient, "{yaml}");
    assert_eq!(value(Manner::Strict, yaml, &read).1, strict, "{yaml}");
}

fn string(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Option<String> {
    reader.string(&field?, "a name").map(|text| text.value().to_owned())
}

#[test]
fn a_switch_is_a_boolean_or_a_word_for_one() {
    let flag = |reader: &mut Reader<'_>, field: Option<Field<'_>>| reader.flag(field, true);
    for (yaml, expected) in [("off", false), ("\"0\"", false), ("YES", true), ("~", true)] {
        assert_eq!(value(Manner::Strict, yaml, flag), (expected, vec![]), "{yaml}");
    }
    said(
        "maybe",
        flag,
        &["warning 1:4: a: found `maybe`, allowed are true, 1, yes, on and false, 0, no, off; \
           true is used"],
        &["error 1:4: a: found `maybe`, allowed are true, 1, yes, on and false, 0, no, off"],
    );
}

#[test]
fn a_time_is_a_number_of_seconds() {
    let rule = Seconds { default: Duration::from_secs(9), zero: Zero::Refused };
    let seconds = |reader: &mut Reader<'_>, field: Option<Field<'_>>| reader.seconds(field, &rule);
    assert_eq!(value(Manner::Strict, "1.5", seconds), (Duration::from_millis(1500), vec![]));
    assert_eq!(value(Manner::Strict, "\"2\"", seconds), (Duration::from_secs(2), vec![]));
    said(
        "0",
        seconds,
        &["warning 1:4: a: must be more than 0 seconds; 9 is used"],
        &["error 1:4: a: must be more than 0 seconds"],
    );
    said(
        "-1",
        seconds,
        &["warning 1:4: a: must be a number of at least 0, found `-1`; 9 is used"],
        &["error 1:4: a: must be a number of at least 0, found `-1`"],
    );
    said(
        "1e9",
        seconds,
        &["warning 1:4: a: is more than a year; 31536000 is used"],
        &["error 1:4: a: is more than a year"],
    );
    said(
        "[1]",
        seconds,
        &["warning 1:4: a: must be a number, found a list; 9 is used"],
        &["error 1:4: a: must be a number, found a list"],
    );
}

#[test]
fn a_whole_number_keeps_to_its_bounds_and_is_exact() {
    let whole = |reader: &mut Reader<'_>, field: Option<Field<'_>>| {
        reader.whole(field, 1..=9_007_199_254_740_992_u64, 7)
    };
    for (yaml, expected) in
        [("9007199254740991", 9_007_199_254_740_991), ("\"12\"", 12), ("1e3", 1000)]
    {
        assert_eq!(value(Manner::Strict, yaml, whole), (expected, vec![]), "{yaml}");
    }
    for yaml in ["0", "1.5", "1e300"] {
        said(
            yaml,
            whole,
            &["warning 1:4: a: must be a whole number from 1 to 9007199254740992; 7 is used"],
            &["error 1:4: a: must be a whole number from 1 to 9007199254740992"],
        );
    }
    let small =
        |reader: &mut Reader<'_>, field: Option<Field<'_>>| reader.whole(field, 0..=u16::MAX, 7);
    assert_eq!(value(Manner::Strict, "\"${PORT}\"", small), (8080, vec![]));
}

#[test]
fn a_word_is_one_of_those_that_are_known() {
    let word = |reader: &mut Reader<'_>, field: Option<Field<'_>>| {
        let field = field.unwrap_or_else(|| panic!("there is a value"));
        reader.word(&field, &[("json", 1), ("text", 2)], ("`json` is used", 1))
    };
    assert_eq!(value(Manner::Strict, "TEXT", word), (2, vec![]));
    said(
        "yaml",
        word,
        &["warning 1:4: a: found `yaml`, allowed are `json`, `text`; `json` is used"],
        &["error 1:4: a: found `yaml`, allowed are `json`, `text`"],
    );
}

#[test]
fn what_follows_from_a_variable_that_is_not_set_is_not_said_in_the_strict_manner() {
    let number =
        |reader: &mut Reader<'_>, field: Option<Field<'_>>| reader.whole(field, 0..=9_u64, 7);
    said(
        "\"${A}${B:-x}\"",
        number,
        &[
            "warning 1:4: a: the variable `A` is not set; its placeholder is kept (set it in the \
             profile's `.env` or in the environment)",
            "warning 1:4: a: the variable `B` is not set; its placeholder is kept (there are no \
             default values; write `${B}`)",
            "warning 1:4: a: must be a number, found `${A}${B:-x}`; 7 is used",
        ],
        &[
            "error 1:4: a: the variable `A` is not set (set it in the profile's `.env` or in the \
             environment)",
            "error 1:4: a: the variable `B` is not set (there are no default values; write `${B}`)",
        ],
    );
}

#[test]
fn an_empty_variable_is_said_once_in_the_strict_manner() {
    said(
        "${BLANK}",
        string,
        &[
            "warning 1:4: a: the variable `BLANK` is set but empty",
            "error 1:4: a: must be a name, but its variables are empty",
        ],
        &["error 1:4: a: the variable `BLANK` is set but empty"],
    );
    let both = &["warning 1:4: a: the value of the variable `PADDED` begins or ends with white \
                  space"];
    said("${PADDED}", string, both, both);
}

#[test]
fn a_string_must_be_one() {
    for (yaml, found) in [("5", "a number"), ("[x]", "a list"), ("\" \"", "an empty string")] {
        let words = format!("error 1:4: a: must be a name, found {found}");
        said(yaml, string, &[&words], &[&words]);
    }
}

#[test]
fn strings_are_one_or_several() {
    let strings = |reader: &mut Reader<'_>, field: Option<Field<'_>>| {
        field.and_then(|field| reader.strings(&field)).unwrap_or_default()
    };
    assert_eq!(value(Manner::Strict, "x", strings), (vec!["x".to_owned()], vec![]));
    assert_eq!(
        value(Manner::Strict, "[x, {}, 1.10]", strings),
        (
            vec!["x".to_owned(), "1.10".to_owned()],
            vec!["error 1:8: a[1]: must be a string, found a mapping".to_owned()]
        )
    );
}

#[test]
fn a_path_may_begin_with_the_home_directory() {
    let path = |reader: &mut Reader<'_>, field: Option<Field<'_>>| {
        field.and_then(|field| reader.path(&field, "a path")).map(|text| text.value().to_owned())
    };
    assert_eq!(value(Manner::Strict, "~/x", path), (Some("/home/ada/x".to_owned()), vec![]));
}

#[test]
fn what_is_quoted_is_short_and_on_one_line() {
    assert_eq!(quoted("a\nb"), "`a\\nb`");
    assert_eq!(quoted(&"x".repeat(99)), format!("`{}…`", "x".repeat(MAX_QUOTED)));
}
