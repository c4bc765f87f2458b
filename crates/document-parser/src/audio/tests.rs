//! Tests of `audio`.

use super::*;

fn wav(data: &[u8]) -> Vec<u8> {
    let mut bytes = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    bytes.extend([0x22, 0x56, 0, 0, 0x44, 0xac, 0, 0, 2, 0, 16, 0]);
    bytes.extend(b"LIST\x03\0\0\0abc\0data");
    bytes.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    bytes.extend(data);
    bytes
}

/// 128 kbit/s at 44100 Hz: 417 bytes.
fn mp3(frames: usize) -> Vec<u8> {
    let mut frame = vec![0xff, 0xfb, 0x90, 0x00];
    frame.resize(417, 0);
    frame.repeat(frames)
}

fn aac(frames: usize) -> Vec<u8> {
    let mut frame = vec![0xff, 0xf1, 0x50, 0x80, 0x02, 0x1f, 0xfc];
    frame.resize(16, 1);
    frame.repeat(frames)
}

fn page(position: i64, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"OggS\0\0".to_vec();
    bytes.extend(position.to_le_bytes());
    bytes.extend([0; 12]);
    bytes.extend([1, u8::try_from(body.len()).unwrap()]);
    bytes.extend(body);
    bytes
}

fn opus() -> Vec<u8> {
    [page(0, b"OpusHead\x01"), page(0, b"OpusTags"), page(960, &[1; 40])].concat()
}

fn flac() -> Vec<u8> {
    [&b"fLaC\x80\0\0\x22"[..], &[0; 34], &[0xff, 0xf8, 0x69, 0x08, 0, 1, 2, 3]].concat()
}

#[test]
fn every_format_is_detected() {
    let tagged = [&b"ID3\x04\0\0\0\0\0\x05abcde"[..], &mp3(2)].concat();
    for (bytes, expected) in [
        (wav(&[1, 2]), "audio/wav"),
        (mp3(1), "audio/mpeg"),
        (mp3(3), "audio/mpeg"),
        (tagged, "audio/mpeg"),
        (aac(1), "audio/aac"),
        (aac(4), "audio/aac"),
        (opus(), "audio/ogg"),
        (flac(), "audio/flac"),
    ] {
        assert_eq!(check(&bytes, AudioKind::Container), Ok(expected));
    }
    assert_eq!(check(&[0, 0, 1, 0], AudioKind::Samples), Ok("audio/pcm"));
}

#[test]
fn audio_without_a_frame_is_rejected() {
    for bytes in [
        wav(&[]),
        wav(&[1]),
        mp3(1)[..416].to_vec(),
        b"ID3\x04\0\0\0\0\0\x05abcde".to_vec(),
        aac(1)[..15].to_vec(),
        opus()[..opus().len() - 1].to_vec(),
        [page(0, b"OpusHead\x01"), page(0, b"OpusTags")].concat(),
        [page(0, b"theora"), page(960, b"x")].concat(),
        flac()[..flac().len() - 1].to_vec(),
        b"fLaC\x80".to_vec(),
        b"RIFF\0\0\0\0WAVE".to_vec(),
    ] {
        assert_eq!(check(&bytes, AudioKind::Container), Err(NO_FRAME), "{bytes:?}");
    }
    assert_eq!(check(b"", AudioKind::Container), Err(EMPTY));
    assert_eq!(check(b"", AudioKind::Samples), Err(EMPTY));
    assert_eq!(check(b"x", AudioKind::Samples), Err(NO_FRAME));
}

#[test]
fn text_is_rejected() {
    for text in ["<!doctype html><p>no</p>", " {\"error\": {}}", "[1]"] {
        for kind in [AudioKind::Samples, AudioKind::Container] {
            let wrong = Err(MediaError::TextNotAudio);
            assert_eq!(check(text.as_bytes(), kind), wrong);
        }
    }
    let other = check(b"something else entirely", AudioKind::Container);
    assert_eq!(other, Err(MediaError::UnknownAudio));
}

#[test]
fn random_bytes_do_not_panic() {
    for seed in 0..2000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let starts = [wav(&[1, 2]), mp3(2), aac(2), opus(), flac()];
        let mut bytes = starts[usize::try_from(seed % 5).unwrap()].clone();
        for _ in 0..random.usize(0..6) {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
        }
        bytes.truncate(random.usize(0..=bytes.len()));
        let _ = check(&bytes, AudioKind::Container);
    }
}
