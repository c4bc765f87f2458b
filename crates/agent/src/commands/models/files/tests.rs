//! Tests of `model`.

use super::*;

#[test]
fn large_counts_are_abbreviated() {
    for (count, text) in [
        (0, "0"),
        (134_515_008, "135 M"),
        (1_235_814_432, "1.2 B"),
        (9_960_000, "10 M"),
        (12_000_000_000, "12 B"),
    ] {
        assert_eq!(short(count), text);
    }
}
