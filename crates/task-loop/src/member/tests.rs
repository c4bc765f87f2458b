//! Tests of `member`.

use super::*;

#[test]
fn amounts_have_the_fewest_decimal_places() {
    for (micros, text) in
        [(0, "0"), (1000, "0.001"), (10_000_000, "10"), (-1_500_000, "-1.5"), (100, "0.0001")]
    {
        assert_eq!(credits(micros), text);
    }
}
