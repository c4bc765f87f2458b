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
    // Some readers stop at NUL characters.
    if text.contains('\0') { text.replace('\0', "") } else { text.into_owned() }
}

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
    // A declaration readable as ASCII cannot be in UTF-16.
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
mod tests;
