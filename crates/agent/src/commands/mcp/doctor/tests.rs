//! Tests of `report`.

use super::*;

#[test]
fn only_what_is_worse_than_advice_is_bad() {
    let mut findings = Findings::default();
    findings.add(Finding::good("x"));
    findings.add(Finding::advice("y"));
    assert!(!is_bad(&findings));
    findings.add(Finding::warning("z"));
    assert!(is_bad(&findings));
}

#[test]
fn the_same_is_found_once() {
    let mut findings = Findings::default();
    findings.add(Finding::error("x").of("a"));
    findings.add(Finding::error("x").of("a"));
    findings.add(Finding::error("x").of("b"));
    assert_eq!(summary(&findings), "Found 2 errors and 0 warnings.\n");
}
