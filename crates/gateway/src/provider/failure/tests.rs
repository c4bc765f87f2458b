//! Tests of `failure`.

use super::*;

#[test]
fn only_statuses_that_no_request_can_provoke_count_against_an_upstream() {
    for status in [301, 307, 401, 402, 407, 500, 502, 505, 520] {
        assert!(Failure::Broken { status }.is_its_fault(), "{status}");
    }
    for status in [200, 403, 408, 501, 504, 524] {
        assert!(!Failure::Broken { status }.is_its_fault(), "{status}");
    }
}
