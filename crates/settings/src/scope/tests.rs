//! Tests of `scope`.

use super::*;

fn scope() -> Scope {
    let map = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    };
    Scope {
        secrets: map(&[("TOKEN", "from-profile"), ("BLANK", ""), ("A.B-C", "dotted")]),
        process: map(&[
            ("TOKEN", "from-process"),
            ("BLANK", "hidden by the profile"),
            ("ONLY_PROCESS", "process-value"),
            ("NESTED", "${TOKEN}"),
            ("HOST", "mcp.example.com"),
            ("userHome", "not a context name here"),
            ("USERHOME", "upper"),
            ("SECONDS", "45"),
            ("SWITCH", "False"),
        ]),
        home: Some("/home/ada".into()),
        workspace: "/work/project".into(),
    }
}

#[test]
fn every_reference_form_resolves_as_documented() {
    for (written, expected) in [
        ("plain", "plain"),
        ("${TOKEN}", "from-profile"),
        ("${env:TOKEN}", "from-profile"),
        ("${ env:TOKEN }", "from-profile"),
        ("${env: TOKEN}", "from-profile"),
        ("Bearer ${TOKEN}!", "Bearer from-profile!"),
        ("${ONLY_PROCESS}", "process-value"),
        ("${A.B-C}", "dotted"),
        ("${userHome}/x", "/home/ada/x"),
        ("${USERHOME}", "upper"),
        ("${env:userHome}", "not a context name here"),
        ("${workspaceFolder}", "/work/project"),
        ("${workspaceFolderBasename}", "project"),
        ("a${/}b${pathSeparator}c", &format!("a{MAIN_SEPARATOR_STR}b{MAIN_SEPARATOR_STR}c")),
        ("${NESTED}", "${TOKEN}"),
        ("${BLANK}", ""),
        ("${UNSET} ${TOKEN}", "${UNSET} from-profile"),
        ("${ UNSET }", "${ UNSET }"),
        ("${token}", "${token}"),
        ("$TOKEN $(TOKEN) {TOKEN}", "$TOKEN $(TOKEN) {TOKEN}"),
        ("${TOKEN", "${TOKEN"),
        ("${}", "${}"),
        ("${TOKEN:-x}", "from-profile"),
        ("${env:UNSET:-x y}", "x y"),
        ("${ UNSET :-${TOKEN}", "${TOKEN"),
        ("${UNSET:-}", ""),
        ("${BLANK:-x}", "x"),
        ("${userHome:-x}", "/home/ada"),
        ("${UNSET:-a:-b}", "a:-b"),
        ("${UNSET-x}", "${UNSET-x}"),
        ("$${TOKEN}", "$from-profile"),
        ("${a${TOKEN}", "${a${TOKEN}"),
        ("ä${TOKEN}ö", "äfrom-profileö"),
    ] {
        assert_eq!(scope().resolve(written).0, expected, "{written}");
    }
}

#[test]
fn references_have_an_origin() {
    let (_, references) = scope().resolve("${TOKEN}${HOST}${userHome}${nope}${BLANK}");
    let origins: Vec<_> = references.iter().map(|reference| reference.origin).collect();
    let expected =
        [Origin::Secrets, Origin::Process, Origin::Context, Origin::Unset, Origin::Secrets];
    assert_eq!(origins, expected);
}

#[test]
fn root_has_itself_as_basename_and_a_missing_home_is_unset() {
    let scope = Scope { workspace: "/".into(), home: None, ..scope() };
    assert_eq!(scope.resolve("${workspaceFolderBasename}").0, "/");
    let (resolved, references) = scope.resolve("${userHome}");
    assert_eq!(resolved, "${userHome}");
    assert!(references[0].origin == Origin::Unset);
}

#[test]
fn only_a_leading_tilde_component_is_expanded() {
    for (path, expected) in
        [("~", "/home/ada"), ("~/x", "/home/ada/x"), ("~bob/x", "~bob/x"), ("a/~", "a/~")]
    {
        assert_eq!(scope().expand_home(path).as_deref(), Some(expected));
    }
    assert_eq!(Scope::default().expand_home("~/x"), None);
}

#[test]
fn debug_output_of_a_scope_contains_no_values() {
    let shown = format!("{:?}", scope());
    assert!(!shown.contains("from-pro") && !shown.contains("process-value"), "{shown}");
}
