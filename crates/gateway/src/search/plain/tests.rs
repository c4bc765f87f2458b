//! Tests of `plain`.

use super::*;

#[test]
fn tags_are_removed_and_entities_decoded() {
    let text = "A <strong>bold</strong> word &amp; a&nbsp;space<br>next <script>alert(1)</script>";
    assert_eq!(from_html(text, 100), "A bold word & a space next");
    assert_eq!(from_html("1 < 2 and 3 > 2", 100), "1 < 2 and 3 > 2");
    assert_eq!(from_html("plain\n  text\u{202e}!\u{0}", 100), "plain text!");
    assert_eq!(from_html("<p>one</p><p>two</p>", 100), "one two");
}

#[test]
fn long_and_malformed_markup_is_truncated() {
    assert_eq!(from_html(&"x".repeat(2000), 10), format!("{}…", "x".repeat(10)));
    assert_eq!(from_html("Größe".repeat(9).as_str(), 5), "Größe…");
    let broken = "<b".repeat(10_000) + "&#x" + &"<".repeat(10_000);
    assert!(from_html(&broken, 100).chars().count() <= 101);
    assert!(from_html(&"<div>".repeat(100_000), 1000).is_empty());
}

#[test]
fn every_provider_time_format_is_parsed() {
    for (written, read) in [
        ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"),
        ("2024-05-01T12:00:00+02:00", "2024-05-01T12:00:00+02:00"),
        ("2024-05-01T12:00:00", "2024-05-01T12:00:00Z"),
        ("Wed, 01 May 2024 12:00:00 GMT", "2024-05-01T12:00:00Z"),
        ("2024-05-01", "2024-05-01"),
    ] {
        assert_eq!(published(written).as_deref(), Some(read), "{written}");
    }
    for not in ["", "yesterday", "2024-13-01", "3 days ago", "2024-05-01T99:00:00"] {
        assert_eq!(published(not), None, "{not}");
    }
}
