//! Tests of `calendar`.

use super::*;

fn micros(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_microsecond()
}

#[track_caller]
fn check(window: Window, start: &str, end: &str) {
    let shown = |time: Time| Timestamp::from_microsecond(time.micros()).unwrap().to_string();
    assert_eq!((shown(window.start), shown(window.end)), (start.to_owned(), end.to_owned()));
}

#[test]
fn windows_follow_the_time_zone() {
    let now = Time::from_micros(micros("2026-03-01T03:30:00Z"));
    let utc = Calendar::utc().windows(now);
    check(utc.day, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z");
    // A Sunday.
    check(utc.week, "2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z");
    check(utc.month, "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z");
    let new_york = Calendar::parse("America/New_York").unwrap().windows(now);
    check(new_york.day, "2026-02-28T05:00:00Z", "2026-03-01T05:00:00Z");
    check(new_york.month, "2026-02-01T05:00:00Z", "2026-03-01T05:00:00Z");
}

#[test]
fn days_have_23_or_25_hours_when_clocks_change() {
    let berlin = Calendar::parse("Europe/Berlin").unwrap();
    let spring = berlin.windows(Time::from_micros(micros("2026-03-29T12:00:00Z")));
    check(spring.day, "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z");
    let autumn = berlin.windows(Time::from_micros(micros("2026-10-25T12:00:00Z")));
    check(autumn.day, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z");
    // Clocks were set forward at midnight.
    let cairo = Calendar::parse("Africa/Cairo").unwrap();
    let gap = cairo.windows(Time::from_micros(micros("2026-04-24T12:00:00Z")));
    check(gap.day, "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z");
}

#[test]
fn windows_are_contiguous_and_contain_their_time() {
    for name in ["UTC", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia", "Etc/GMT+12"] {
        let calendar = Calendar::parse(name).unwrap();
        assert_eq!(calendar.name(), name);
        let mut now = micros("2011-12-01T00:00:00Z");
        for _ in 0..500 {
            now += 7 * 3_600_000_000 + 1;
            let windows = calendar.windows(Time::from_micros(now));
            for window in [windows.day, windows.week, windows.month] {
                assert!(
                    (window.start.micros()..window.end.micros()).contains(&now),
                    "{name} {now}"
                );
            }
            let next = calendar.windows(windows.month.end);
            assert_eq!(next.month.start, windows.month.end, "{name} {now}");
        }
    }
}

#[test]
fn unknown_time_zones_are_rejected() {
    assert_eq!(Calendar::parse("Mars/Olympus"), None);
}
