//! Tests of `failure`.

use super::*;

#[test]
fn only_statuses_no_request_can_cause_count_as_upstream_faults() {
    for status in [301, 307, 401, 402, 407, 500, 502, 505, 520] {
        assert!(Failure::Broken { status }.is_its_fault(), "{status}");
    }
    for status in [200, 403, 408, 501, 504, 524] {
        assert!(!Failure::Broken { status }.is_its_fault(), "{status}");
    }
}
