//! Tests of `signals`.

use super::*;

#[test]
fn inherited_ignored_signals_are_parsed_from_the_mask() {
    let status = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\tffff\n";
    assert!(ignores(status, 1) && ignores(status, 13));
    assert!(!ignores(status, 15) && !ignores(status, 3));
    assert!(!ignores("", 1) && !ignores("SigIgn:\tx", 1) && !ignores(status, 0));
}
