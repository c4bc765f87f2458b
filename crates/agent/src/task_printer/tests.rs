//! Tests of `task_printer`.

use std::time::Duration;

use super::*;

#[test]
fn durations_and_sizes_are_abbreviated() {
    assert_eq!(duration(Duration::from_millis(7)), "7 ms");
    assert_eq!(duration(Duration::from_millis(1234)), "1.2 s");
    assert_eq!(duration(Duration::from_secs(125)), "2 min 5 s");
    assert_eq!(
        (size(12), size(34_567), size(3_456_789)),
        ("12 B".into(), "34 kB".into(), "3.4 MB".into())
    );
}
