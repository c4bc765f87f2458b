//! Tests of `fields`.

use super::*;

#[test]
fn amounts_are_exact() {
    for (text, micros) in [
        ("12", 12_000_000),
        ("0.000001", 1),
        (".5", 500_000),
        ("1,234.25", 1_234_250_000),
        ("-3", -3_000_000),
        ("\u{2212}0.1", -100_000),
        ("9223372036854.775807", i64::MAX),
    ] {
        assert_eq!(parse_credits(text), Some(Micros::new(micros)), "{text}");
    }
    for text in ["", ".", "-", "1.0000001", "1e3", "ten", "1.-5", "+1", "9223372036854.775808"] {
        assert_eq!(parse_credits(text), None, "{text}");
    }
}

#[test]
fn missing_numbers_are_none() {
    let fields = Fields::parse(b"rate=12&bad=x");
    assert_eq!(number(&fields, "rate"), Ok(Some(12)));
    assert_eq!(number(&fields, "missing"), Ok(None));
    assert_eq!(number(&fields, "bad").unwrap_err().field, "bad");
}
