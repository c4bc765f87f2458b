//! Tests of `image`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::*;

/// A PNG of one colour.
pub(super) fn picture(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_compression(png::Compression::Fast);
    let row = usize::try_from(width.div_ceil(8) * height).unwrap();
    encoder.write_header().unwrap().write_image_data(&vec![0xa5; row]).unwrap();
    bytes
}

pub(super) fn animation(frames: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = gif::Encoder::new(&mut bytes, 8, 8, &[0, 0, 0, 255, 255, 255]).unwrap();
    for _ in 0..frames {
        let buffer = std::borrow::Cow::Owned(vec![1; 64]);
        let frame = gif::Frame { width: 8, height: 8, buffer, ..gif::Frame::default() };
        encoder.write_frame(&frame).unwrap();
    }
    drop(encoder);
    bytes
}

pub(super) fn web_picture() -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = image_webp::WebPEncoder::new(&mut bytes);
    encoder.encode(&[7; 192], 8, 8, image_webp::ColorType::Rgb8).unwrap();
    bytes
}

/// A grey JPEG of eight by eight pixels, from another program.
const GREY: &str = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+\
        MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//wAALCAAIAAgBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAEC\
        AwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAk\
        M2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJ\
        ipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3\
        +Pn6/9oACAEBAAA/AEt/AvT9z+lf/9k=";

pub(super) fn photograph() -> Vec<u8> {
    BASE64.decode(GREY).unwrap()
}

#[test]
fn every_format_is_detected() {
    assert_eq!(check(&picture(100, 50)), Ok("image/png"));
    assert_eq!(check(&photograph()), Ok("image/jpeg"));
    assert_eq!(check(&animation(3)), Ok("image/gif"));
    assert_eq!(check(&web_picture()), Ok("image/webp"));
}

#[test]
fn truncated_images_are_rejected() {
    for whole in [picture(100, 50), photograph(), animation(3), web_picture()] {
        for end in 0..whole.len() - 1 {
            let is_image = check(&whole[..end]);
            assert!(is_image.is_err(), "{end} of {} bytes: {is_image:?}", whole.len());
        }
    }
}

#[test]
fn other_files_are_rejected() {
    assert_eq!(check(b""), Err(MediaError::EmptyImage));
    for other in [&b"<!doctype html><html>"[..], b"{}", b"RIFF0000WAVEfmt ", b"%PDF-1.7"] {
        assert_eq!(check(other), Err(MediaError::UnknownImage));
    }
    let mut wrong = picture(100, 50);
    let middle = wrong.len() / 2;
    wrong[middle] ^= 0x10;
    assert_eq!(check(&wrong), Err(BROKEN));
    assert!(check(&animation(0)).is_err());
}

#[test]
fn decompression_bombs_are_rejected() {
    // One bit per pixel, all equal: few bytes.
    let bomb = picture(8192, 4097);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    assert_eq!(check(&bomb), Err(TOO_LARGE));
    assert_eq!(check(&picture(8192, 4096)), Ok("image/png"));
    // Only the declared size is changed.
    let mut claims = photograph();
    let frame = claims.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    claims[frame + 5..frame + 9].copy_from_slice(&[0xff, 0xff, 0xff, 0xff]);
    assert_eq!(check(&claims), Err(TOO_LARGE));
}

/// An animation of one frame with another screen, and another place and size of the frame.
fn moved_frame(screen: [u16; 2], frame: [u16; 4]) -> Vec<u8> {
    let mut bytes = animation(1);
    let descriptor = bytes.iter().rposition(|byte| *byte == b',').unwrap() + 1;
    let write = |bytes: &mut Vec<u8>, at: usize, words: &[u16]| {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes[at..at + words.len()].copy_from_slice(&words);
    };
    assert_eq!(bytes[descriptor..descriptor + 8], [0, 0, 0, 0, 8, 0, 8, 0]);
    write(&mut bytes, 6, &screen);
    write(&mut bytes, descriptor, &frame);
    bytes
}

#[test]
fn frames_beyond_the_screen_of_an_animation_are_cut() {
    let visible = |frame: [u16; 4]| {
        let image = decode(&moved_frame([8, 8], frame)).unwrap();
        assert_eq!(image.samples.len(), 8 * 8 * 4);
        image.samples.chunks(4).filter(|pixel| pixel[3] != 0).count()
    };
    for (left, top, pixels) in
        [(0, 0, 64), (6, 0, 16), (0, 7, 8), (6, 7, 2), (8, 0, 0), (9, 7, 0), (0, 8, 0)]
    {
        assert_eq!(visible([left, top, 8, 8]), pixels, "{left} {top}");
    }
    assert_eq!(visible([u16::MAX, u16::MAX, 8, 8]), 0);
    assert_eq!(visible([0, 0, 64, 1]), 8, "a wide frame");
}

#[test]
fn animations_with_impossible_sizes_are_rejected() {
    let whole = [0, 0, 8, 8];
    assert_eq!(check(&moved_frame([u16::MAX, u16::MAX], whole)), Err(TOO_LARGE));
    assert_eq!(check(&moved_frame([0, 8], whole)), Err(BROKEN));
    for empty in [[0, 0, 0, 8], [0, 0, 8, 0], [0, 0, 0, 0]] {
        assert!(check(&moved_frame([8, 8], empty)).is_err(), "{empty:?}");
    }
    assert!(check(&moved_frame([8, 8], [0, 0, u16::MAX, u16::MAX])).is_err());
}
