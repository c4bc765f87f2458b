//! Tests of `blob`.

use super::*;

#[test]
fn base64_is_decoded_in_every_common_alphabet() {
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
fn an_oversized_blob_is_rejected_before_decoding() {
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
fn data_urls_are_split() {
    let (mime, data) = strip_data_url("data:image/png;base64,AAAA".to_owned());
    assert_eq!((mime.as_deref(), data.as_str()), (Some("image/png"), "AAAA"));
    let (mime, data) = strip_data_url("AAAA".to_owned());
    assert_eq!((mime, data.as_str()), (None, "AAAA"));
}
