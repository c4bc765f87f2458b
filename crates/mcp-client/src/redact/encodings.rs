//! The encodings in which a secret may appear.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Minimum length of a base64 fragment that is searched.
const MIN_INNER_CHARS: usize = 8;

const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const WITH_STAR: AsciiSet = UNRESERVED.remove(b'*');
/// The bytes that RFC 3986, HTML forms and JavaScript encode in a URL.
const PERCENT_ENCODED: [&AsciiSet; 3] =
    [&UNRESERVED, &WITH_STAR, &WITH_STAR.remove(b'!').remove(b'\'').remove(b'(').remove(b')')];

pub(super) fn of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        // Alone, padded or not, and inside a longer text such as `user:value`.
        forms.push(engine.encode(value));
        for before in 0..3 {
            let inner = inner_base64(|bytes| engine.encode(bytes), value.as_bytes(), before);
            if inner.len() >= MIN_INNER_CHARS {
                forms.push(inner);
            }
        }
    }
    for encoded_bytes in PERCENT_ENCODED {
        let encoded = utf8_percent_encode(value, encoded_bytes).to_string();
        forms.push(encoded.replace("%20", "+"));
        forms.push(lower_escapes(&encoded));
        forms.push(encoded);
    }
    let quoted = serde_json::Value::from(value).to_string();
    let json = quoted[1..quoted.len() - 1].to_owned();
    forms.push(json.replace('/', "\\/"));
    forms.push(ascii_escaped(&json));
    forms.push(json);
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// The characters that a value always yields at this offset of a longer base64 text.
fn inner_base64(encode: impl Fn(Vec<u8>) -> String, value: &[u8], before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let whole = bytes.len() / 3 * 4;
    // Characters that mix bits of the value with preceding bits.
    let mixed = [0, 2, 3][before];
    let encoded = encode(bytes);
    // After the last whole group, one of two or two of three characters are determined.
    let firm = whole + (encoded.len() - whole).saturating_sub(1);
    encoded.get(mixed..firm).unwrap_or_default().to_owned()
}

fn lower_escapes(encoded: &str) -> String {
    let mut since = usize::MAX;
    encoded
        .chars()
        .map(|character| {
            since = if character == '%' { 0 } else { since.saturating_add(1) };
            if since <= 2 { character.to_ascii_lowercase() } else { character }
        })
        .collect()
}

fn ascii_escaped(json: &str) -> String {
    let mut escaped = String::new();
    for character in json.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}
