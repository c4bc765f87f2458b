//! Tests of `metadata`.

use super::*;

#[test]
fn dates_are_normalized() {
    for (text, expected) in [
        ("2024-02-29T12:30:00Z", Some("2024-02-29T12:30:00Z")),
        ("2024-02-29T12:30:00+01:00", Some("2024-02-29T12:30:00+01:00")),
        ("2024-02-29T12:30", Some("2024-02-29")),
        ("2024/02/29", Some("2024-02-29")),
        ("2024-02-29 10:00:00 -0500", Some("2024-02-29")),
        ("Thu, 29 Feb 2024 12:30:00 +0000", Some("2024-02-29T12:30:00Z")),
        ("2024-02-30", None),
        ("yesterday", None),
        ("", None),
        ("0001-01-01", None),
    ] {
        assert_eq!(date(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn authors_are_names_and_not_addresses() {
    assert_eq!(author("  By  Ada \n Lovelace ").as_deref(), Some("Ada Lovelace"));
    assert_eq!(author("https://example.com/ada"), None);
    assert_eq!(author("  "), None);
}

#[test]
fn language_tags_are_validated() {
    assert_eq!(tag("en_US").as_deref(), Some("en-US"));
    assert_eq!(tag("zh-Hant").as_deref(), Some("zh-Hant"));
    assert_eq!(tag("english"), None);
    assert_eq!(tag("{{lang}}"), None);
}
