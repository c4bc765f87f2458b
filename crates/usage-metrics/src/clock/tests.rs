//! Tests of `clock`.

use super::*;

#[test]
fn times_are_formatted_as_rfc_3339_for_any_clock() {
    let text = |ms| Timestamp::from_ms(ms).to_string();
    assert_eq!(text(0), "1970-01-01T00:00:00Z");
    assert_eq!(text(1_785_196_799_001), "2026-07-27T23:59:59.001Z");
    assert_eq!(text(1_785_196_800_000), "2026-07-28T00:00:00Z");
    assert_eq!(text(-5), "1970-01-01T00:00:00Z");
    assert_eq!(text(i64::MAX), "9999-12-30T23:59:59.999Z");
    for ms in [i64::MIN, -1, 0, 1, i64::MAX] {
        let moment = Timestamp::from_ms(ms);
        assert!(crate::validate::is_date_time(&moment.to_string()));
        assert!(crate::validate::is_date_time(&moment.day().end().to_string()));
    }
}

#[test]
fn day_includes_its_start_and_excludes_its_end() {
    let day = Timestamp::from_ms(1_785_196_800_000).day();
    assert_eq!(day.to_string(), "2026-07-28");
    assert_eq!(day.start().day(), day);
    assert_eq!(day.end().day(), Day::from_number(day.number() + 1));
}
