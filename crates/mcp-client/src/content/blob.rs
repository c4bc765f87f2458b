//! Decoding of base64 blobs, and their MIME types.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Maximum size of a blob; a larger one is rejected before decoding.
pub const MAX_BLOB_BYTES: usize = 50 * 1024 * 1024;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlobError {
    TooLarge { bytes: usize },
    Malformed,
}

/// Accepts line breaks, missing padding and the URL-safe alphabet.
pub(super) fn decode(base64: &str) -> Result<Vec<u8>, BlobError> {
    let bytes = base64.len() / 4 * 3;
    if bytes > MAX_BLOB_BYTES {
        return Err(BlobError::TooLarge { bytes });
    }
    let compact: String;
    let text = if base64.bytes().any(|byte| byte.is_ascii_whitespace()) {
        compact = base64.split_ascii_whitespace().collect();
        &compact
    } else {
        base64
    };
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).map_err(|_| BlobError::Malformed)
}

pub(super) fn strip_data_url(data: String) -> (Option<String>, String) {
    let Some((head, body)) = data.strip_prefix("data:").and_then(|rest| rest.split_once(','))
    else {
        return (None, data);
    };
    let mime = head.split(';').next().filter(|mime| !mime.is_empty()).map(str::to_owned);
    (mime, body.to_owned())
}

pub(super) fn guess_media_type(base64: &str) -> &'static str {
    media_type(&decode(base64.get(..32).unwrap_or(base64)).unwrap_or_default())
}

/// The MIME type by magic bytes; `application/octet-stream` if they are unknown.
pub fn media_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => "audio/wav",
        [b'I', b'D', b'3', ..] | [0xFF, 0xFB, ..] => "audio/mpeg",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        [b'%', b'P', b'D', b'F', ..] => "application/pdf",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests;
