//! Tests of `charset`.

use super::*;

fn read(bytes: &[u8], content_type: Option<&str>) -> String {
    decode(bytes, content_type, Declarations::Used)
}

#[test]
fn byte_order_mark_wins_over_header_and_header_over_declaration() {
    assert_eq!(read(b"\xef\xbb\xbfcaf\xc3\xa9", Some("text/html; charset=latin1")), "café");
    assert_eq!(read(b"\xff\xfea\0b\0", None), "ab");
    assert_eq!(
        read(b"<meta charset=utf-8>caf\xe9", Some("text/html; charset=\"ISO-8859-1\"")),
        "<meta charset=utf-8>café"
    );
    let page = b"<html><META http-equiv=x content='text/html; charset=windows-1251'>\xcf\xf0";
    assert!(read(page, Some("text/html")).ends_with("Пр"));
    assert!(read(b"<?xml version='1.0' encoding='ISO-8859-2'?><a>\xb9", None).ends_with('š'));
}

#[test]
fn undeclared_encodings_are_detected() {
    assert_eq!(read("Grüße".as_bytes(), None), "Grüße");
    let (russian, _, _) =
        encoding_rs::WINDOWS_1251.encode("Привет, как дела? Это обычный русский текст.");
    assert!(read(&russian, None).starts_with("Привет"));
    let (japanese, _, _) =
        encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。文字コードを調べます。");
    assert!(read(&japanese, None).starts_with("これは"));
    assert_eq!(read(b"plain", Some("text/plain; charset=no-such-thing")), "plain");
}
