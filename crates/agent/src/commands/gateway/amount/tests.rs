//! Tests of `amount`.

use super::*;

#[test]
fn credits_are_parsed_to_the_last_decimal_place() {
    for (text, micros) in [
        ("10", 10_000_000),
        ("0.5", 500_000),
        ("10.000001", 10_000_001),
        ("-2.25", -2_250_000),
        ("+1", 1_000_000),
        ("0", 0),
        ("9223372036.854775", 9_223_372_036_854_775),
    ] {
        assert_eq!(AmountUnit { micros: false }.read(text).unwrap().get(), micros, "{text}");
    }
}

#[test]
fn inexact_amounts_are_rejected() {
    for text in ["", ".", "1.", ".5", "1.0000001", "1e3", "1,5", "--1", "٣", "9223372036855"] {
        assert!(AmountUnit { micros: false }.read(text).is_err(), "{text}");
    }
    let unit = AmountUnit { micros: true };
    assert_eq!(unit.read("-7").unwrap().get(), -7);
    assert!(unit.read("0.5").is_err() && unit.read("9223372036854775807").is_err());
}
