//! The character encoding of a page: byte order mark, header, declaration in the page, or detection.

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes that are searched for a declaration.
const DECLARATION_BYTES: usize = 4096;
/// Bytes that are used for detection.
const DETECTION_BYTES: usize = 256 * 1024;

/// Whether declarations in the text are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declarations {
    /// `meta` elements and XML declarations.
    Used,
    Ignored,
}

/// Decodes the text of a page.
pub(super) fn decode(
    bytes: &[u8],
    content_type: Option<&str>,
    declarations: Declarations,
) -> String {
    let encoding = Encoding::for_bom(bytes)
        .map(|(encoding, _)| encoding)
        .or_else(|| named(bytes, charset_of(content_type.unwrap_or_default())))
        .or_else(|| (declarations == Declarations::Used).then(|| declared(bytes)).flatten())
        .unwrap_or_else(|| detected(bytes));
    let (text, _, _) = encoding.decode(bytes);
    // Zero characters stop some readers.
    if text.contains('\0') { text.replace('\0', "") } else { text.into_owned() }
}

/// The `charset` of a media type.
fn charset_of(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches(['"', '\'']))
}

/// The encoding with this name. UTF-16 without a byte order mark must look like it.
fn named(bytes: &[u8], name: Option<&str>) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(name?.as_bytes())?;
    let is_wide = encoding == UTF_16LE || encoding == UTF_16BE;
    let start = bytes.get(..DECLARATION_BYTES).unwrap_or(bytes);
    if is_wide && !start.contains(&0) { None } else { Some(encoding) }
}

/// The encoding in a `meta` element or an XML declaration.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..DECLARATION_BYTES).unwrap_or(bytes);
    let text: String = start.iter().map(|byte| char::from(*byte).to_ascii_lowercase()).collect();
    let is_xml = text.starts_with("<?xml");
    let xml = text.find("encoding=").filter(|_| is_xml).map(|at| at + "encoding=".len());
    let meta = || {
        let mut rest = 0;
        while let Some(at) = text.get(rest..)?.find("<meta") {
            let begin = rest + at;
            let end = begin + text.get(begin..)?.find('>')?;
            let tag = text.get(begin..end)?;
            if let Some(at) = tag.find("charset=") {
                return Some(begin + at + "charset=".len());
            }
            rest = end;
        }
        None
    };
    let at = xml.or_else(meta)?;
    let name: String = text
        .get(at..)?
        .trim_start_matches([' ', '"', '\''])
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric() || "-_:.".contains(*letter))
        .collect();
    let encoding = Encoding::for_label(name.as_bytes())?;
    // A declaration that is readable as ASCII cannot be in UTF-16.
    let is_wide = encoding == UTF_16LE || encoding == UTF_16BE;
    Some(if is_wide { UTF_8 } else { encoding })
}

fn detected(bytes: &[u8]) -> &'static Encoding {
    // A few invalid characters do not rule out UTF-8.
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    if bad == 0 || good > bad.saturating_mul(10) {
        return UTF_8;
    }
    let start = bytes.get(..DETECTION_BYTES).unwrap_or(bytes);
    let mut detector = EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    if !detector.feed(start, true) {
        return WINDOWS_1252;
    }
    detector.guess(None, chardetng::Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
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
}
