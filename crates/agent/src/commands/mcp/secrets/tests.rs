//! Tests of `secrets`.

use super::*;

#[test]
fn secret_part_of_a_value_is_detected() {
    let known = ["Bearer abcd1234", "abcd1234", "s3cret"].map(|value| KnownSecret::new("x", value));
    for (text, secret) in [
        ("Bearer abcd1234", Some("abcd1234")),
        ("s3cret", Some("s3cret")),
        ("nos3cret", None),
        ("${X}", None),
        ("Bearer ${abcd1234", None),
        ("ghp_0123456789abcdef", Some("ghp_0123456789abcdef")),
        ("token ghp_0123456789abcdef", Some("ghp_0123456789abcdef")),
        ("ghp_short", None),
        ("", None),
    ] {
        assert_eq!(secret_of(text, &known), secret, "{text}");
    }
    assert_eq!(variable_name("my.api", "X-Api-Key"), "MCP_MY_API_X_API_KEY");
}

#[test]
fn a_secret_inside_a_longer_word_is_ignored() {
    for (text, at) in [
        ("s3cret", Some(0)),
        ("--token=s3cret", Some(8)),
        ("https://x/?key=s3cret&a=b", Some(15)),
        ("https://u:s3cret@x/", Some(10)),
        ("Authorization: Bearer s3cret", Some(22)),
        ("as3cret", None),
        ("s3crets", None),
    ] {
        assert_eq!(stands_alone(text, "s3cret"), at, "{text}");
    }
}
