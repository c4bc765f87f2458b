//! Tests of `time`.

use super::*;

#[test]
fn days_and_months_change_at_midnight() {
    let at = |seconds: i64| Time::from_millis(seconds * 1000);
    // 2026-01-31T23:59:59Z and a second later.
    let (last, first) = (at(1_769_903_999), at(1_769_904_000));
    assert_eq!(first.day() - last.day(), 1);
    assert_eq!((last.month(), first.month()), (2026 * 12, 2026 * 12 + 1));
    // 2024-02-29, and the days around a new year.
    assert_eq!(at(1_709_164_800).month(), 2024 * 12 + 1);
    assert_eq!(at(1_735_689_599).month(), 2024 * 12 + 11);
    assert_eq!(at(1_735_689_600).month(), 2025 * 12);
    assert_eq!(at(0).month(), 1970 * 12);
}
