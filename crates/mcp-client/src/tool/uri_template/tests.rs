//! Tests of `tool::uri_template`.

use super::*;

fn template(text: &str) -> ResourceTemplate {
    ResourceTemplate {
        uri_template: text.to_owned(),
        name: String::new(),
        title: None,
        description: None,
        mime_type: None,
    }
}

/// What precedes the variable, the variable, and what was typed of it.
fn begun(text: &str, typed: &str) -> Option<(String, Option<String>, String)> {
    let template = template(text);
    let begun = template.begun(typed)?;
    Some((begun.before, begun.variable.map(str::to_owned), begun.begun))
}

#[test]
fn the_typed_end_belongs_to_a_variable() {
    let text = "note://{folder}/of/{name}.md";
    for (typed, before, variable, value) in [
        ("", "note://", "folder", ""),
        ("no", "note://", "folder", ""),
        ("note://", "note://", "folder", ""),
        ("note://a%20b", "note://", "folder", "a b"),
        ("note://a/", "note://a/of/", "name", ""),
        ("note://a/o", "note://a/of/", "name", ""),
        ("note://a/of/x", "note://a/of/", "name", "x"),
    ] {
        let expected = (before.to_owned(), Some(variable.to_owned()), value.to_owned());
        assert_eq!(begun(text, typed), Some(expected), "{typed}");
    }
    let given = template(text).begun("note://a%20b/of/").unwrap().given;
    assert_eq!(given, BTreeMap::from([("folder".to_owned(), "a b".to_owned())]));
    assert_eq!(begun(text, "note://a/of/x.md"), None, "complete");
    assert_eq!(begun(text, "other://"), None);
    assert_eq!(begun(text, "note://a/in/"), None);
}

#[test]
fn unknown_expressions_end_what_is_understood() {
    for text in ["db://rows{?limit}", "db://rows{a,b}", "db://rows{", "db://rows{}"] {
        let whole = ("db://rows".to_owned(), None, String::new());
        assert_eq!(begun(text, "db:"), Some(whole), "{text}");
    }
    assert_eq!(begun("plain://uri", "plain://uri"), None);
    assert_eq!(begun("ü{x}ä{y}", "ü1").unwrap().2, "1");
}

#[test]
fn values_are_encoded_unless_the_template_takes_paths() {
    let plain = template("file:///{name}");
    assert_eq!(plain.begun("file:///").unwrap().with("a b/ü"), "file:///a%20b%2F%C3%BC");
    let path = template("file:///{+path*}");
    assert_eq!(path.begun("file:///x").unwrap().with("a b/c"), "file:///a%20b/c");
}

proptest::proptest! {
    #[test]
    fn nothing_a_server_or_person_writes_panics(text in ".{0,40}", typed in ".{0,40}") {
        if let Some(begun) = template(&text).begun(&typed) {
            let _ = begun.with(&typed);
        }
    }
}
