//! Tests of `report`.

use super::*;

#[test]
fn only_findings_above_advice_are_failures() {
    let mut findings = Findings::default();
    findings.add(Finding::good("x"));
    findings.add(Finding::advice("y"));
    assert!(!is_bad(&findings));
    findings.add(Finding::warning("z"));
    assert!(is_bad(&findings));
}

#[test]
fn duplicate_findings_are_counted_once() {
    let mut findings = Findings::default();
    findings.add(Finding::error("x").of("a"));
    findings.add(Finding::error("x").of("a"));
    findings.add(Finding::error("x").of("b"));
    assert_eq!(summary(&findings), "Found 2 errors and 0 warnings.\n");
}
