//! Decoding of base64 blobs, and their MIME types.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The largest blob; a larger one is rejected before decoding.
pub const MAX_BLOB_BYTES: usize = 50 * 1024 * 1024;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlobError {
    /// Larger than [`MAX_BLOB_BYTES`].
    TooLarge {
        bytes: usize,
    },
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

/// Strips a `data:image/png;base64,` prefix and returns its MIME type.
pub(super) fn strip_data_url(data: String) -> (Option<String>, String) {
    let Some((head, body)) = data.strip_prefix("data:").and_then(|rest| rest.split_once(','))
    else {
        return (None, data);
    };
    let mime = head.split(';').next().filter(|mime| !mime.is_empty()).map(str::to_owned);
    (mime, body.to_owned())
}

/// Guesses the MIME type by magic bytes.
pub(super) fn guess_media_type(base64: &str) -> &'static str {
    let head = decode(base64.get(..32).unwrap_or(base64)).unwrap_or_default();
    match head.as_slice() {
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
mod tests {
    use super::*;

    #[test]
    fn base64_is_taken_in_every_usual_spelling() {
        for text in ["aGk/aGk+", "aGk_aGk-", "aGk/\naGk+", " aGk/ aGk+ "] {
            assert_eq!(decode(text).unwrap(), b"hi?hi>", "{text}");
        }
        assert_eq!(decode("aGk").unwrap(), b"hi");
        assert_eq!(decode("aGk=").unwrap(), b"hi");
        for text in ["no base64!", "aGk/aGk-", "a"] {
            assert_eq!(decode(text), Err(BlobError::Malformed), "{text}");
        }
    }

    #[test]
    fn a_blob_over_the_limit_is_refused_undecoded() {
        let text = "!".repeat(MAX_BLOB_BYTES / 3 * 4 + 8);
        assert!(matches!(decode(&text), Err(BlobError::TooLarge { .. })));
    }

    #[test]
    fn types_are_guessed_by_the_first_bytes() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n"[..], "image/png"),
            (b"\xFF\xD8\xFF\xE0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
            (b"ID3\x04", "audio/mpeg"),
            (b"OggS", "audio/ogg"),
            (b"fLaC", "audio/flac"),
            (b"%PDF-1.7", "application/pdf"),
            (b"what", "application/octet-stream"),
            (b"", "application/octet-stream"),
        ] {
            assert_eq!(guess_media_type(&STANDARD.encode(bytes)), expected);
        }
    }

    #[test]
    fn data_addresses_are_taken_apart() {
        let (mime, data) = strip_data_url("data:image/png;base64,AAAA".to_owned());
        assert_eq!((mime.as_deref(), data.as_str()), (Some("image/png"), "AAAA"));
        let (mime, data) = strip_data_url("AAAA".to_owned());
        assert_eq!((mime, data.as_str()), (None, "AAAA"));
    }
}
