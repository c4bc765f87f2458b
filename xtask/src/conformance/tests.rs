//! Tests of `conformance`.

use super::*;

fn parse(line: &str) -> Result<Selection> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Selection::parse(&arguments)
}

#[test]
fn everything_runs_without_arguments() {
    assert_eq!(parse("").unwrap(), Selection::Everything);
    assert_eq!(parse("--service").unwrap(), Selection::Service);
    assert!(REVISIONS.iter().all(|revision| required_count(revision).is_some()));
}

#[test]
fn scenarios_and_requirements_are_selected_by_name() {
    let both = Selection::Scenarios(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(parse("--scenario a --scenario b").unwrap(), both);
    assert_eq!(parse("--scenario a b").unwrap(), both);
    let required = Selection::Requirements("2026-07-28".to_owned());
    assert_eq!(parse("--requirements 2026-07-28").unwrap(), required);
    for wrong in ["--scenario", "--requirements", "--all", "--requirements a b", "--service a"] {
        assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong}");
    }
}
