//! Tests of `number`.

use super::*;

#[test]
fn integers_are_accepted_in_every_notation() {
    for one in ["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "100.00e-2", "0.01E2"] {
        assert_eq!(count(one), Count::Integer { one: true }, "{one}");
    }
    let long = format!("1{}", "0".repeat(400));
    for integer in ["2", "10", "1e1", "1.5e1", "9223372036854775808", "1e30", "1e308", &long] {
        assert_eq!(count(integer), Count::Integer { one: false }, "{integer}");
    }
}

#[test]
fn invalid_counts_are_classified() {
    for below in [
        "0", "-0", "0.0", "0e9", "-1", "-1.5", "0e999999999999999999999",
        "-1e-99999999999999999999",
    ] {
        assert_eq!(count(below), Count::BelowOne, "{below}");
    }
    for fraction in ["1.5", "0.5", "1e-1", "1.00000000000000000001", "1e-999999999999999999999"] {
        assert_eq!(count(fraction), Count::Fraction, "{fraction}");
    }
    for beyond in ["1e400", "1e309", "1.8e308", "1e999999999999999999999", "0.1e310"] {
        assert_eq!(count(beyond), Count::OutOfRange, "{beyond}");
    }
}

#[test]
fn integers_have_a_value_up_to_the_maximum() {
    assert_eq!(parse_count("1"), Some(1));
    assert_eq!(parse_count("1.50e1"), Some(15));
    assert_eq!(parse_count("1000"), Some(1000));
    assert_eq!(parse_count("18446744073709551615"), Some(u64::MAX));
    assert_eq!(parse_count("18446744073709551616"), None);
    assert_eq!(parse_count("1e30"), None);
}
