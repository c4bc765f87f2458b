//! Tests of `report`.

use super::*;

#[test]
fn only_problems_are_unhealthy() {
    let mut findings = Findings::default();
    assert!(is_healthy(&findings));
    findings.add(Finding::warning("b").of("a"));
    assert!(is_healthy(&findings) && text(&findings).ends_with("No problems found; 1 warning.\n"));
    findings.add(Finding::error("b").of("a"));
    assert!(!is_healthy(&findings) && text(&findings).ends_with("1 problem, 1 warning.\n"));
}

#[test]
fn control_characters_do_not_break_a_line() {
    let mut findings = Findings::default();
    findings.add(Finding::good("one\ntwo\x1b[2J").of("a").hint("three\rfour"));
    assert_eq!(text(&findings).lines().count(), 3);
    assert!(!text(&findings).contains("\x1b[2J") && !text(&findings).contains('\r'));
}
