//! Tests of `format`.

use super::*;

#[test]
fn credits_have_the_fewest_exact_digits() {
    assert_eq!(credits(0), "0");
    assert_eq!(credits(1), "0.000001");
    assert_eq!(credits(1_500_000), "1.5");
    assert_eq!(credits(-1_234_567_000_000), "\u{2212}1,234,567");
    assert_eq!(credits(i64::MIN), "\u{2212}9,223,372,036,854.775808");
}

#[test]
fn times_are_relative_with_exact_tooltips() {
    let now = 1_795_000_000 * SECOND;
    assert!(moment(now, now).to_string().contains("just now"));
    assert_eq!(ago(now - 5 * MINUTE, now), "5 min ago");
    assert_eq!(ago(now + 3 * DAY, now), "in 3 d");
    assert_eq!(ago(0, now), "1 Jan 1970");
    assert_eq!(exact_time(0), "1 Jan 1970, 00:00:00 UTC");
}

#[test]
fn sizes_have_units() {
    assert_eq!(bytes(999), "999 bytes");
    assert_eq!(bytes(1_234_567), "1.2 MB");
    assert_eq!(duration(1_234_567), "1.2 s");
    assert_eq!(duration(61 * MINUTE), "1 h 1 min");
    assert_eq!(count(1_234_567), "1,234,567");
}
