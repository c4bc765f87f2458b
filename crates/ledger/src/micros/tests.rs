//! Tests of `micros`.

use super::*;

#[test]
fn sums_beyond_the_range_are_rejected() {
    assert_eq!(Micros::MAX.plus(Micros::new(1)), None);
    assert_eq!(Micros::new(-1).minus(Micros::MAX), None);
    assert_eq!(Micros::new(i64::MAX).plus(Micros::new(1)), None);
    assert_eq!(Micros::new(2).plus(Micros::new(3)), Some(Micros::new(5)));
}

#[test]
fn amounts_are_printed_in_credits() {
    assert_eq!(Micros::new(1_234_567).to_string(), "1.234567");
    assert_eq!(Micros::new(-5).to_string(), "-0.000005");
}
