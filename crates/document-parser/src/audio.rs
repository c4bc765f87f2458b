//! Checks that bytes are audio: a known container with at least one frame.
//!
//! Only headers are checked. A decoder such as symphonia would enlarge the attack surface, and
//! no samples are needed.

use serde::{Deserialize, Serialize};

use crate::rejection::MediaError;

/// Bytes of an MP3 or AAC stream that are searched for the first frame.
const MAX_SEARCH: usize = 64 * 1024;
const EMPTY: MediaError = MediaError::EmptyAudio;
const NO_FRAME: MediaError = MediaError::NoAudioFrame;

/// The expected form of audio; raw samples have no signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AudioKind {
    Samples,
    /// WAV, Ogg, FLAC, MP3 or AAC.
    Container,
}

/// Returns the media type of audio with at least one frame.
pub(crate) fn check(bytes: &[u8], kind: AudioKind) -> Result<&'static str, MediaError> {
    if bytes.is_empty() {
        return Err(EMPTY);
    }
    if is_text(bytes) {
        return Err(MediaError::TextNotAudio);
    }
    if kind == AudioKind::Samples {
        return if bytes.len() >= 2 { Ok("audio/pcm") } else { Err(NO_FRAME) };
    }
    match bytes {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', rest @ ..] => {
            has_samples(rest).then_some("audio/wav")
        }
        [b'O', b'g', b'g', b'S', ..] => has_sound_page(bytes).then_some("audio/ogg"),
        [b'f', b'L', b'a', b'C', rest @ ..] => has_flac_frame(rest).then_some("audio/flac"),
        _ => return find_frame(bytes),
    }
    .ok_or(NO_FRAME)
}

/// Whether the bytes start like HTML or JSON.
fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(512)];
    let is_marked = matches!(start.trim_ascii_start().first(), Some(b'<' | b'{' | b'['));
    is_marked
        && std::str::from_utf8(start).map_or_else(|error| error.valid_up_to() + 4 > 512, |_| true)
}

/// Whether a WAV file has a format chunk and at least one sample of each channel. Streamed files declare
/// a length that is too long.
fn has_samples(mut rest: &[u8]) -> bool {
    let mut sample_bytes = 0;
    while let [a, b, c, d, l0, l1, l2, l3, content @ ..] = rest {
        let length = u32::from_le_bytes([*l0, *l1, *l2, *l3]);
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(content.len());
        match [a, b, c, d] {
            [b'f', b'm', b't', b' '] if length >= 16 => {
                sample_bytes = usize::from(u16::from_le_bytes([content[12], content[13]]));
            }
            [b'd', b'a', b't', b'a'] => return sample_bytes > 0 && length >= sample_bytes,
            _ => {}
        }
        rest = content.get(length + length % 2..).unwrap_or_default();
    }
    false
}

/// Whether an Ogg file starts with a known codec and has a later page with a position.
fn has_sound_page(bytes: &[u8]) -> bool {
    const KNOWN: [&[u8]; 4] = [b"OpusHead", b"\x01vorbis", b"\x7fFLAC", b"Speex   "];
    let mut rest = bytes;
    let mut is_first = true;
    while let Some(head) = rest.get(..27).filter(|head| head.starts_with(b"OggS\0")) {
        let position = i64::from_le_bytes(head[6..14].try_into().unwrap_or_default());
        let count = usize::from(head[26]);
        let Some(lengths) = rest.get(27..27 + count) else { return false };
        let length: usize = lengths.iter().map(|length| usize::from(*length)).sum();
        let Some(body) = rest.get(27 + count..27 + count + length) else { return false };
        if is_first && !KNOWN.iter().any(|mark| body.starts_with(mark)) {
            return false;
        }
        if !is_first && position > 0 && length > 0 {
            return true;
        }
        is_first = false;
        rest = &rest[27 + count + length..];
    }
    false
}

/// Whether a frame header follows the metadata blocks of a FLAC file.
fn has_flac_frame(mut rest: &[u8]) -> bool {
    loop {
        let [kind, l0, l1, l2, content @ ..] = rest else { return false };
        let length = usize::from(*l0) << 16 | usize::from(*l1) << 8 | usize::from(*l2);
        let Some(after) = content.get(length..) else { return false };
        rest = after;
        if kind & 0x80 != 0 {
            break;
        }
    }
    // A valid block size and sample rate, and enough bytes for a header with checksums.
    matches!(rest, [0xff, 0xf8 | 0xf9, sizes, ..] if sizes >> 4 != 0 && sizes & 15 != 15)
        && rest.len() >= 8
}

/// Finds an MP3 or AAC frame that is followed by another frame, the end, or a tag.
fn find_frame(bytes: &[u8]) -> Result<&'static str, MediaError> {
    let sound = skip_id3(bytes);
    let search = &sound[..sound.len().min(MAX_SEARCH)];
    for at in (0..search.len()).filter(|at| search[*at] == 0xff) {
        let rest = &sound[at..];
        let Some((media_type, length)) = frame(rest) else { continue };
        let Some(after) = rest.get(length..) else { continue };
        if after.len() < 4 || frame(after).is_some() || after.starts_with(b"TAG") {
            return Ok(media_type);
        }
    }
    let is_tagged = sound.len() != bytes.len();
    let is_marked = matches!(bytes, [0xff, second, ..] if second & 0xe0 == 0xe0);
    if is_tagged || is_marked { Err(NO_FRAME) } else { Err(MediaError::UnknownAudio) }
}

fn skip_id3(bytes: &[u8]) -> &[u8] {
    let [b'I', b'D', b'3', _, _, flags, s0, s1, s2, s3, ..] = bytes else { return bytes };
    let seven = |byte: &u8| usize::from(byte & 0x7f);
    let size = seven(s0) << 21 | seven(s1) << 14 | seven(s2) << 7 | seven(s3);
    let footer = if flags & 0x10 == 0 { 0 } else { 10 };
    bytes.get(10 + size + footer..).unwrap_or_default()
}

fn frame(bytes: &[u8]) -> Option<(&'static str, usize)> {
    let [0xff, second, third, fourth, ..] = bytes else { return None };
    if second & 0xf6 == 0xf0 {
        // AAC in ADTS: the header has the length of the frame including itself.
        let fifth = usize::from(*bytes.get(4)?);
        let sixth = usize::from(*bytes.get(5)?);
        let length = usize::from(fourth & 3) << 11 | fifth << 3 | sixth >> 5;
        let rate = third >> 2 & 15;
        return (length > 7 && rate < 13).then_some(("audio/aac", length));
    }
    mpeg_length(*second, *third).map(|length| ("audio/mpeg", length))
}

/// The length of an MPEG audio frame, from its header.
fn mpeg_length(second: u8, third: u8) -> Option<usize> {
    const FIRST: [[u16; 14]; 3] = [
        [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
        [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
        [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    ];
    const SECOND: [[u16; 14]; 2] = [
        [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
        [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    ];
    const RATES: [usize; 3] = [44_100, 48_000, 32_000];
    if second & 0xe0 != 0xe0 {
        return None;
    }
    let (version, layer) = (second >> 3 & 3, second >> 1 & 3);
    let layer = match layer {
        3 => 0,
        2 => 1,
        1 => 2,
        _ => return None,
    };
    let is_first = version == 3;
    let bits = usize::from(third >> 4).checked_sub(1)?;
    let kilobits = match (is_first, layer) {
        (true, layer) => FIRST[layer].get(bits),
        (false, 0) => SECOND[0].get(bits),
        (false, _) => SECOND[1].get(bits),
    };
    let rate = RATES.get(usize::from(third >> 2 & 3))?;
    let rate = match version {
        3 => *rate,
        2 => rate / 2,
        0 => rate / 4,
        _ => return None,
    };
    let (bits, padding) = (usize::from(*kilobits?) * 1000, usize::from(third >> 1 & 1));
    Some(match (layer, is_first) {
        (0, _) => (12 * bits / rate + padding) * 4,
        (2, false) => 72 * bits / rate + padding,
        _ => 144 * bits / rate + padding,
    })
}

#[cfg(test)]
mod tests;
