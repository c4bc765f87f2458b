//! Scales images that are too large for a model.

use resize::px::RGBA;
use resize::{Pixel, Type};
use serde::{Deserialize, Serialize};

use super::{BROKEN, Image, TOO_LARGE, decode};
use crate::rejection::MediaError;

/// Keeps text on screenshots sharp.
const JPEG_QUALITY: u8 = 85;
/// A model recognizes nothing on a smaller image.
const MIN_SIDE: u16 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageLimits {
    /// Maximum pixels of the longer side.
    pub max_side: u16,
    pub max_bytes: usize,
}

/// A smaller version of an image. Sizes are width and height in pixels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaledImage {
    pub original_size: (u32, u32),
    pub size: (u32, u32),
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// A smaller version of an image that exceeds the limits.
pub(crate) fn scale(bytes: &[u8], limits: ImageLimits) -> Result<Option<ScaledImage>, MediaError> {
    let mut image = decode(bytes)?;
    let original_size = (image.width, image.height);
    let longer = image.width.max(image.height);
    let mut side = u16::try_from(longer).unwrap_or(u16::MAX).min(limits.max_side);
    if longer == u32::from(side) && bytes.len() <= limits.max_bytes {
        return Ok(None);
    }
    let exif = image.exif.take();
    let canvas = Canvas::of(&image)?;
    // Photographs become JPEG, as do images too large as PNG.
    let is_photo = image.is_lossy && canvas.is_opaque();
    drop(image);
    loop {
        let scaled = canvas.resized(side)?;
        let png = if is_photo { None } else { Some(scaled.png()?) };
        let bytes = match png {
            Some(png) if png.len() <= limits.max_bytes => png,
            _ => scaled.jpeg(exif.as_deref())?,
        };
        if bytes.len() <= limits.max_bytes {
            return Ok(Some(ScaledImage { original_size, size: scaled.size(), bytes }));
        }
        side = side / 4 * 3;
        if side < MIN_SIDE {
            return Err(TOO_LARGE);
        }
    }
}

struct Canvas {
    width: usize,
    pixels: Vec<RGBA<u8>>,
}

impl Canvas {
    fn of(image: &Image) -> Result<Self, MediaError> {
        let size = |side: u32| usize::try_from(side).map_err(|_| TOO_LARGE);
        let (width, height) = (size(image.width)?, size(image.height)?);
        let pixel = |samples: &[u8]| match *samples {
            [grey] => RGBA::new(grey, grey, grey, u8::MAX),
            [grey, alpha] => RGBA::new(grey, grey, grey, alpha),
            [r, g, b] => RGBA::new(r, g, b, u8::MAX),
            [r, g, b, a, ..] => RGBA::new(r, g, b, a),
            [] => RGBA::new(0, 0, 0, 0),
        };
        let channels = image.samples.len() / (width * height).max(1);
        if width == 0 || !(1..=4).contains(&channels) {
            return Err(BROKEN);
        }
        Ok(Self { width, pixels: image.samples.chunks_exact(channels).map(pixel).collect() })
    }

    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    fn is_opaque(&self) -> bool {
        self.pixels.iter().all(|pixel| pixel.a == u8::MAX)
    }

    /// The image with this length of its longer side.
    fn resized(&self, side: u16) -> Result<Self, MediaError> {
        let longer = self.width.max(self.height());
        let scaled = |length: usize| (length * usize::from(side)).div_ceil(longer);
        let (width, height) = (scaled(self.width), scaled(self.height()));
        let mut pixels = vec![RGBA::new(0, 0, 0, 0); width * height];
        let resizer =
            resize::new(self.width, self.height(), width, height, Pixel::RGBA8P, Type::Lanczos3);
        resizer.and_then(|mut it| it.resize(&self.pixels, &mut pixels)).map_err(|_| TOO_LARGE)?;
        Ok(Self { width, pixels })
    }

    fn size(&self) -> (u32, u32) {
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        (side(self.width), side(self.height()))
    }

    fn png(&self) -> Result<Vec<u8>, MediaError> {
        let (color, samples): (_, Vec<u8>) = if self.is_opaque() {
            (png::ColorType::Rgb, self.pixels.iter().flat_map(|it| [it.r, it.g, it.b]).collect())
        } else {
            let samples = self.pixels.iter().flat_map(|it| [it.r, it.g, it.b, it.a]);
            (png::ColorType::Rgba, samples.collect())
        };
        let (width, height) = self.size();
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(color);
        let written = encoder.write_header().and_then(|mut it| it.write_image_data(&samples));
        written.map_err(|_| BROKEN)?;
        Ok(bytes)
    }

    /// On white, because a JPEG has no transparency.
    fn jpeg(&self, exif: Option<&[u8]>) -> Result<Vec<u8>, MediaError> {
        let on_white = |pixel: &RGBA<u8>| {
            let (alpha, white) = (u16::from(pixel.a), u16::from(u8::MAX));
            let blend = |sample: u8| {
                let sum = u16::from(sample) * alpha + white * (white - alpha);
                u8::try_from(sum / white).unwrap_or(u8::MAX)
            };
            [pixel.r, pixel.g, pixel.b].map(blend)
        };
        let samples: Vec<u8> = self.pixels.iter().flat_map(on_white).collect();
        let mut bytes = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, JPEG_QUALITY);
        if let Some(exif) = exif {
            // Metadata too long for one segment is dropped.
            let _ = encoder.add_exif_metadata(exif);
        }
        let side = |length: usize| u16::try_from(length).map_err(|_| TOO_LARGE);
        let (width, height) = (side(self.width)?, side(self.height())?);
        let written = encoder.encode(&samples, width, height, jpeg_encoder::ColorType::Rgb);
        written.map_err(|_| BROKEN)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
