//! Tests of `media_type`.

use super::*;

#[test]
fn declared_types_win_and_others_are_detected() {
    for (content_type, bytes, expected) in [
        (Some("text/html; charset=utf-8"), &b""[..], Some(PageKind::Html)),
        (Some("APPLICATION/XHTML+XML"), b"", Some(PageKind::Html)),
        (Some("application/ld+json"), b"{}", Some(PageKind::Json)),
        (Some("application/rss+xml"), b"<rss>", Some(PageKind::Text)),
        (Some("text/markdown"), b"# A", Some(PageKind::Text)),
        (Some("image/png"), b"\x89PNG", None),
        (Some("image/svg+xml"), b"<svg>", None),
        (Some("video/mp4"), b"", None),
        (Some("application/zip"), b"PK", None),
        (Some("application/octet-stream"), b"%PDF-1.7", Some(PageKind::Pdf)),
        (Some("text/plain"), b"%PDF-1.7", Some(PageKind::Pdf)),
        (None, b"\n <!DOCTYPE html><p>", Some(PageKind::Html)),
        (None, b"{\"a\": 1}", Some(PageKind::Json)),
        (None, b"{ not json", Some(PageKind::Text)),
        (None, b"plain words", Some(PageKind::Text)),
        (None, b"\x7fELF\x02\x01\x01\x00", None),
        (Some("application/octet-stream"), b"MZ\x90\x00", None),
    ] {
        assert_eq!(kind(content_type, bytes), expected, "{content_type:?} {bytes:?}");
    }
}
