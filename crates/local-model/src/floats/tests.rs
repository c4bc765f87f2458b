//! Tests of `floats`.

use super::*;

#[test]
fn exp_approximates_the_standard_library() {
    for step in -8700..8800 {
        let number = f32::from(i16::try_from(step).unwrap()) / 100.0;
        let (got, wanted) = (exp(number), number.exp());
        assert!((got - wanted).abs() <= 4e-7 * wanted, "{number}: {got} {wanted}");
    }
    assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(1e9).is_finite());
}
