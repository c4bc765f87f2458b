//! Tests of `env_file`.

use proptest::prelude::*;

use super::*;

#[test]
fn every_line_format_is_parsed() {
    for (line, value) in [
        ("A=b", "b"),
        ("  A = b  ", "b"),
        ("export A=b", "b"),
        ("export\tA=b", "b"),
        ("A=", ""),
        ("A=   # nothing", ""),
        ("A=#no", ""),
        ("A=b # comment", "b"),
        ("A=b#c", "b#c"),
        ("A=b=c==", "b=c=="),
        ("A='b # c'", "b # c"),
        ("A=\"b # c\" # d", "b # c"),
        ("A=\"a\\nb\\t\\\"c\\\" \\\\ \\$x \\q\"", "a\nb\t\"c\" \\ $x \\q"),
        ("A='a\\nb \"c\"'", "a\\nb \"c\""),
        ("A=\"\"", ""),
        ("A=\"one\ntwo\"", "one\ntwo"),
        ("A='one\r\ntwo'\r", "one\ntwo"),
        ("A=' one \n two ' ", " one \n two "),
        ("A=it's", "it's"),
        ("A=${B} $C", "${B} $C"),
        ("\u{feff}A=b\r\n", "b"),
        ("A=ä\u{a0}ö", "ä\u{a0}ö"),
    ] {
        let (variables, problems) = parse(line);
        assert_eq!(problems, [], "{line}");
        assert_eq!(variables, [("A".to_owned(), value.to_owned())].into(), "{line}");
    }
}

#[test]
fn a_variable_may_be_named_export() {
    assert_eq!(parse("export=1\nexports=2").0.len(), 2);
}

#[test]
fn an_invalid_line_warns_without_its_value() {
    for line in [
        "s3cret", "1A=s3cret", "A B=s3cret", "=s3cret", "A=\"s3cret", "A='s3cret' x", "ä=s3cret",
        "A=s3\0cret", "A=s3\u{fffd}cret",
    ] {
        let (variables, problems) = parse(&format!("# first\n\n{line}\nB=c\n"));
        assert_eq!(variables.into_keys().collect::<Vec<_>>(), ["B"], "{line}");
        assert_eq!(problems.len(), 1, "{line}");
        assert_eq!(problems[0].line, 3);
        assert!(!problems[0].to_string().contains("cret"), "{}", problems[0]);
    }
}

#[test]
fn the_last_of_two_values_applies() {
    let (variables, problems) = parse("A=1\nB=\"x\ny\"\nA=2\n");
    assert_eq!(variables["A"], "2");
    assert_eq!((problems.len(), problems[0].line), (1, 4));
}

#[test]
fn limits_are_enforced() {
    let many: Vec<_> = (0..=MAX_VARIABLES).map(|n| format!("A{n}=x\n")).collect();
    let (variables, problems) = parse(&many.concat());
    assert_eq!((variables.len(), problems.len()), (MAX_VARIABLES, 1));
    let (variables, problems) = parse(&"#".repeat(MAX_ENV_FILE_BYTES + 1));
    assert!(variables.is_empty() && problems[0].is_error());
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_panic(text in "([A-C]=|'|\"|\\\\|\n|\r\n|#|export |\\PC){0,40}") {
        let (variables, _) = parse(&text);
        prop_assert!(variables.keys().all(|name| is_name(name)));
    }

    #[test]
    fn single_quoted_values_are_unchanged(value in "[^'\r\0\u{fffd}]{0,40}") {
        let (variables, problems) = parse(&format!("A='{value}'\nB=1"));
        prop_assert_eq!(problems, []);
        prop_assert_eq!(&variables["A"], &value);
    }
}
