//! Checks that bytes are an image by decoding it completely.

use std::io::Cursor;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::rejection::MediaError;

/// The most pixels of all frames; a few bytes can declare any number.
const MAX_PIXELS: u64 = 1 << 25;
const MAX_DECODER_BYTES: usize = 256 * 1024 * 1024;
/// Bytes after the end marker of a JPEG that are tolerated.
const MAX_TAIL: usize = 4096;
const BROKEN: MediaError = MediaError::BrokenImage;
const TOO_LARGE: MediaError = MediaError::TooManyPixels;

/// Returns the media type of an image that can be decoded.
pub(crate) fn check(bytes: &[u8]) -> Result<&'static str, MediaError> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => png(bytes).map(|()| "image/png"),
        [0xff, 0xd8, 0xff, ..] => jpeg(bytes).map(|()| "image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => gif(bytes).map(|()| "image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            webp(bytes).map(|()| "image/webp")
        }
        [] => Err(MediaError::EmptyImage),
        _ => Err(MediaError::UnknownImage),
    }
}

fn check_pixels(width: u64, height: u64, frames: u64) -> Result<(), MediaError> {
    match width.saturating_mul(height).saturating_mul(frames) {
        0 => Err(BROKEN),
        pixels if pixels > MAX_PIXELS => Err(TOO_LARGE),
        _ => Ok(()),
    }
}

fn png(bytes: &[u8]) -> Result<(), MediaError> {
    let limits = png::Limits { bytes: MAX_DECODER_BYTES };
    let decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let mut reader = decoder.read_info().map_err(|_| BROKEN)?;
    let info = reader.info();
    check_pixels(info.width.into(), info.height.into(), 1)?;
    while reader.next_row().map_err(|_| BROKEN)?.is_some() {}
    reader.finish().map_err(|_| BROKEN)
}

fn jpeg(bytes: &[u8]) -> Result<(), MediaError> {
    let tail = &bytes[bytes.len().saturating_sub(MAX_TAIL)..];
    if !tail.windows(2).any(|pair| pair == [0xff, 0xd9]) {
        return Err(MediaError::TruncatedImage);
    }
    let side = usize::try_from(MAX_PIXELS).unwrap_or(usize::MAX);
    let options =
        DecoderOptions::default().set_strict_mode(true).set_max_width(side).set_max_height(side);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|_| BROKEN)?;
    let info = decoder.info().ok_or(BROKEN)?;
    check_pixels(info.width.into(), info.height.into(), 1)?;
    decoder.decode().map(drop).map_err(|_| BROKEN)
}

fn gif(bytes: &[u8]) -> Result<(), MediaError> {
    let mut options = gif::DecodeOptions::new();
    let limit = std::num::NonZeroU64::new(MAX_PIXELS).ok_or(BROKEN)?;
    options.set_memory_limit(gif::MemoryLimit::Bytes(limit));
    let mut decoder = options.read_info(Cursor::new(bytes)).map_err(|_| BROKEN)?;
    check_pixels(decoder.width().into(), decoder.height().into(), 1)?;
    let mut pixels: u64 = 0;
    while let Some(frame) = decoder.read_next_frame().map_err(|_| BROKEN)? {
        pixels += u64::from(frame.width) * u64::from(frame.height);
        if pixels > MAX_PIXELS {
            return Err(TOO_LARGE);
        }
    }
    if pixels == 0 { Err(MediaError::NoImageFrame) } else { Ok(()) }
}

fn webp(bytes: &[u8]) -> Result<(), MediaError> {
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(|_| BROKEN)?;
    let (width, height) = decoder.dimensions();
    let frames = if decoder.is_animated() { decoder.num_frames() } else { 1 };
    check_pixels(width.into(), height.into(), frames.into())?;
    decoder.set_memory_limit(MAX_DECODER_BYTES);
    let mut pixels = vec![0; decoder.output_buffer_size().ok_or(TOO_LARGE)?];
    if !decoder.is_animated() {
        return decoder.read_image(&mut pixels).map_err(|_| BROKEN);
    }
    (0..frames).try_for_each(|_| decoder.read_frame(&mut pixels).map(drop).map_err(|_| BROKEN))
}

#[cfg(test)]
mod tests;
