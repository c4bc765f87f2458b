//! Decodes images, always completely, because providers reject a request with a broken image.

pub(crate) mod scale;

use std::io::Cursor;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::rejection::MediaError;

/// Maximum pixels of all frames; a few bytes can declare any number.
const MAX_PIXELS: u64 = 1 << 25;
const MAX_DECODER_BYTES: usize = 256 * 1024 * 1024;
/// Bytes after the end marker of a JPEG that are tolerated.
const MAX_TAIL: usize = 4096;
const BROKEN: MediaError = MediaError::BrokenImage;
const TOO_LARGE: MediaError = MediaError::TooManyPixels;

/// A decoded image; of an animation its first frame.
#[derive(Debug)]
struct Image {
    media_type: &'static str,
    width: u32,
    height: u32,
    /// The samples of each pixel, one byte each: grey, grey and alpha, RGB, or RGBA.
    samples: Vec<u8>,
    is_lossy: bool,
    /// Metadata of a photograph, such as the orientation.
    exif: Option<Vec<u8>>,
}

/// Returns the media type of an image that can be decoded.
pub(crate) fn check(bytes: &[u8]) -> Result<&'static str, MediaError> {
    decode(bytes).map(|image| image.media_type)
}

fn decode(bytes: &[u8]) -> Result<Image, MediaError> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => png(bytes),
        [0xff, 0xd8, 0xff, ..] => jpeg(bytes),
        [b'G', b'I', b'F', b'8', ..] => gif(bytes),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(bytes),
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

fn png(bytes: &[u8]) -> Result<Image, MediaError> {
    let limits = png::Limits { bytes: MAX_DECODER_BYTES };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|_| BROKEN)?;
    let (width, height) = reader.info().size();
    check_pixels(width.into(), height.into(), 1)?;
    let mut samples = vec![0; reader.output_buffer_size().ok_or(TOO_LARGE)?];
    reader.next_frame(&mut samples).map_err(|_| BROKEN)?;
    reader.finish().map_err(|_| BROKEN)?;
    Ok(Image { media_type: "image/png", width, height, samples, is_lossy: false, exif: None })
}

fn jpeg(bytes: &[u8]) -> Result<Image, MediaError> {
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
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    check_pixels(width.into(), height.into(), 1)?;
    let samples = decoder.decode().map_err(|_| BROKEN)?;
    let exif = decoder.exif().cloned();
    Ok(Image { media_type: "image/jpeg", width, height, samples, is_lossy: true, exif })
}

fn gif(bytes: &[u8]) -> Result<Image, MediaError> {
    let mut options = gif::DecodeOptions::new();
    let limit = std::num::NonZeroU64::new(MAX_PIXELS * 4).ok_or(BROKEN)?;
    options.set_memory_limit(gif::MemoryLimit::Bytes(limit));
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(Cursor::new(bytes)).map_err(|_| BROKEN)?;
    let (width, height) = (decoder.width(), decoder.height());
    check_pixels(width.into(), height.into(), 1)?;
    let (mut samples, mut pixels) = (Vec::new(), 0);
    while let Some(frame) = decoder.read_next_frame().map_err(|_| BROKEN)? {
        pixels += u64::from(frame.width) * u64::from(frame.height);
        if pixels > MAX_PIXELS {
            return Err(TOO_LARGE);
        }
        if samples.is_empty() {
            samples = on_canvas(frame, width.into(), height.into());
        }
    }
    if pixels == 0 {
        return Err(MediaError::NoImageFrame);
    }
    let (width, height) = (width.into(), height.into());
    Ok(Image { media_type: "image/gif", width, height, samples, is_lossy: false, exif: None })
}

/// A frame that may cover only a part of the image.
fn on_canvas(frame: &gif::Frame<'_>, width: usize, height: usize) -> Vec<u8> {
    let mut canvas = vec![0; width * height * 4];
    let left = usize::from(frame.left).min(width) * 4;
    let row_bytes = usize::from(frame.width) * 4;
    let right = (width * 4).min(left + row_bytes);
    let lines = canvas.chunks_exact_mut(width * 4).skip(frame.top.into());
    // A frame without width has no rows.
    for (line, row) in lines.zip(frame.buffer.chunks_exact(row_bytes.max(1))) {
        line[left..right].copy_from_slice(&row[..right - left]);
    }
    canvas
}

fn webp(bytes: &[u8]) -> Result<Image, MediaError> {
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(|_| BROKEN)?;
    let (width, height) = decoder.dimensions();
    let frames = if decoder.is_animated() { decoder.num_frames() } else { 1 };
    check_pixels(width.into(), height.into(), frames.into())?;
    decoder.set_memory_limit(MAX_DECODER_BYTES);
    let mut samples = vec![0; decoder.output_buffer_size().ok_or(TOO_LARGE)?];
    if decoder.is_animated() {
        decoder.read_frame(&mut samples).map_err(|_| BROKEN)?;
        let mut frame = vec![0; samples.len()];
        for _ in 1..frames {
            decoder.read_frame(&mut frame).map_err(|_| BROKEN)?;
        }
    } else {
        decoder.read_image(&mut samples).map_err(|_| BROKEN)?;
    }
    let is_lossy = decoder.is_lossy();
    Ok(Image { media_type: "image/webp", width, height, samples, is_lossy, exif: None })
}

#[cfg(test)]
mod tests;
