//! Tests of `duration`.

use super::*;

#[test]
fn durations_use_the_largest_fitting_unit() {
    let told = [1, 119, 120, 7199, 7200, 172_800].map(length);
    let expected = ["1 second", "119 seconds", "2 minutes", "119 minutes", "2 hours", "2 days"];
    assert_eq!(told, expected);
}

#[test]
fn times_are_shown_to_the_second() {
    assert_eq!(moment("2026-02-01T00:00:00.25Z"), "2026-02-01 00:00:00");
    assert_eq!(moment("soon\n"), "soon\\n");
}
