//! Tests of `document`.

use super::*;

#[test]
fn document_has_name_description_and_body() {
    let text = "---\nname: tidy-up\ndescription: >\n  Tidies\n  up\nlicense: MIT\n---\n\n# Do\n\n---\nit\n";
    for text in [text.to_owned(), format!("\u{feff}{text}"), text.replace('\n', "\r\n")] {
        let document = Document::parse(&text).unwrap();
        assert_eq!(document.title.as_str(), "tidy-up");
        assert_eq!(document.description, "Tidies up");
        assert!(document.body.starts_with("# Do") && document.body.ends_with("it"), "{text}");
    }
}

#[test]
fn errors_name_their_line() {
    let long = "x".repeat(MAX_DESCRIPTION_CHARS + 1);
    let cases = [
        ("", Some(1), "must be `---`"),
        ("# Do it\n", Some(1), "must be `---`"),
        ("---\nname: a\n", Some(1), "is not closed"),
        ("---\n---\nbody", Some(1), "`name` is missing"),
        ("---\nname: a\n---\nbody", Some(1), "`description` is missing"),
        ("---\ndescription: x\nname: ../a\n---\nbody", Some(3), "invalid name `../a`"),
        ("---\nname: a\ndescription: ''\n---\nbody", Some(3), "is empty"),
        ("---\nname: a\nname: b\n---\nbody", Some(3), "duplicate key `name`"),
        ("---\nname: a\ndescription: [x]\n---\nbody", Some(3), ""),
        ("---\nname: a\ndescription: b: c\n---\nbody", Some(3), ""),
        ("---\nname: a\ndescription: x\n---\n \n", None, "no instructions"),
        (&format!("---\nname: a\ndescription: {long}\n---\nb"), Some(3), "are allowed"),
    ];
    for (text, line, says) in cases {
        let flaw = Document::parse(text).unwrap_err();
        assert_eq!(flaw.line, line, "{text:?}: {flaw:?}");
        assert!(flaw.what.contains(says), "{text:?}: {flaw:?}");
    }
}

#[test]
fn exponential_yaml_aliases_are_rejected() {
    let mut text = "---\na: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (one, other) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        text.push_str(&format!("{other}: &{other} [{}]\n", vec![format!("*{one}"); 9].join(",")));
    }
    text.push_str("name: a\ndescription: x\n---\nbody\n");
    assert!(Document::parse(&text).is_err());
}

#[test]
fn errors_contain_no_control_characters() {
    let flaw = Document::parse("---\nname: \"\\e[2J\"\ndescription: x\n---\nb").unwrap_err();
    assert!(!flaw.what.chars().any(char::is_control), "{flaw:?}");
}
