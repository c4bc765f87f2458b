//! Tests of `service`.

use super::*;

fn row(scenario: &str, failed: &[&str]) -> Row {
    Row {
        scenario: format!("server-{scenario}"),
        version: "2026-07-28".to_owned(),
        passed: 1,
        failed: failed.iter().map(|&check| check.to_owned()).collect(),
    }
}

/// A passing run of all scenarios that apply.
fn good() -> Vec<Row> {
    let names = SERVER_SCENARIOS.iter().filter(|(_, of)| of.contains(&"2026-07-28"));
    let skipped = |name: &str| -> Vec<String> {
        let of = SKIPPED_CHECKS.iter().filter(|(scenario, ..)| *scenario == name);
        of.map(|(_, check, _)| format!("{check}: cannot be tested")).collect()
    };
    names.map(|(name, _)| Row { failed: skipped(name), ..row(name, &[]) }).collect()
}

#[test]
fn inapplicable_scenarios_are_not_counted() {
    let mut rows = good();
    rows.push(row("tools-call-audio", &["tools-call-audio: no such tool"]));
    rows.push(row("input-required-result-validate-input", &[]));
    let (applicable, left_out) = classify(rows, "2026-07-28").unwrap();
    assert_eq!(applicable.len(), 7);
    assert!(applicable.iter().all(Row::passes), "{applicable:?}");
    assert_eq!(left_out.values().sum::<usize>(), 2 + SKIPPED_CHECKS.len());
}

#[test]
fn scenarios_must_be_listed_and_listed_ones_must_run() {
    let mut rows = good();
    rows.push(row("something-new", &[]));
    let error = classify(rows, "2026-07-28").unwrap_err().to_string();
    assert!(error.contains("`something-new` at 2026-07-28 that nobody"), "{error}");
    let mut rows = good();
    rows.pop();
    let error = classify(rows, "2026-07-28").unwrap_err().to_string();
    assert!(error.contains("did not run"), "{error}");
    for (_, names) in NOT_APPLICABLE {
        assert!(names.iter().all(|name| SERVER_SCENARIOS.iter().all(|(other, _)| other != name)));
    }
}

#[test]
fn failed_checks_and_unneeded_exceptions_are_errors() {
    let mut rows = good();
    rows[0].failed.push("tools-list: is wrong".to_owned());
    assert!(!classify(rows, "2026-07-28").unwrap().0[0].passes());
    let mut caching = row("caching", &[]);
    assert_eq!(remove_skipped_checks("caching", &mut caching).len(), 0);
    assert!(!caching.passes());
}
