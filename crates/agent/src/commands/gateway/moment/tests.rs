//! Tests of `moment`.

use super::*;

#[test]
fn periods_are_a_whole_number_with_a_unit() {
    for (text, seconds) in
        [("90s", 90), ("5m", 300), ("24h", 86400), ("30d", 2_592_000), ("2w", 1_209_600)]
    {
        assert_eq!(period(text).unwrap().as_secs(), seconds);
    }
    for text in ["", "d", "1.5d", "-1d", "10", "5y", "36501d", "99999999999999999999d"] {
        assert!(period(text).is_err(), "{text}");
    }
}

#[test]
fn times_are_shown_in_utc() {
    let at = Time::from_millis(1_769_904_000_250);
    assert_eq!(gateway::rfc3339(at), "2026-02-01T00:00:00.25Z");
    assert_eq!(shown(at), "2026-02-01 00:00:00");
}
