//! Tests of `watch`.

use super::*;

#[test]
fn shares_are_whole_percentages_from_0_to_100() {
    for (used, whole, expected) in [(0, 10, 0), (-5, 10, 0), (799, 1000, 79), (8, 10, 80)] {
        assert_eq!(percent(used, whole), expected);
    }
    assert_eq!(percent(11, 10), 100);
    assert_eq!(percent(0, 0), 100);
    assert_eq!(percent(i64::MAX, i64::MAX), 100);
}
