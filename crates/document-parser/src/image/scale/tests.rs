//! Tests of `scale`.

use super::super::tests::{animation, photograph, picture, web_picture};
use super::*;

const LIMITS: ImageLimits = ImageLimits { max_side: 200, max_bytes: 100_000 };

/// An image of these pixels, which no compression makes much smaller.
fn noise(width: usize, height: usize, alpha: u8) -> Canvas {
    let mut random = fastrand::Rng::with_seed(7);
    let mut pixel = || RGBA::new(random.u8(..), random.u8(..), random.u8(..), alpha);
    Canvas { width, pixels: (0..width * height).map(|_| pixel()).collect() }
}

fn scaled(bytes: &[u8], limits: ImageLimits) -> (ScaledImage, Image) {
    let scaled = scale(bytes, limits).unwrap().unwrap();
    let image = decode(&scaled.bytes).unwrap();
    assert_eq!(scaled.size, (image.width, image.height));
    (scaled, image)
}

#[test]
fn images_within_the_limits_stay_as_they_are() {
    for small in [picture(200, 100), photograph(), animation(3), web_picture()] {
        assert_eq!(scale(&small, LIMITS), Ok(None));
        let just = ImageLimits { max_bytes: small.len(), ..LIMITS };
        assert_eq!(scale(&small, just), Ok(None));
    }
}

#[test]
fn the_longer_side_is_scaled_and_the_shape_stays() {
    for (from, to) in [((4000, 3000), (200, 150)), ((100, 201), (100, 200)), ((3000, 1), (200, 1))]
    {
        let (scaled, image) = scaled(&picture(from.0, from.1), LIMITS);
        assert_eq!((scaled.original_size, scaled.size), (from, to));
        assert_eq!(image.media_type, "image/png");
    }
    // A checked pattern becomes grey.
    let squares = (0..400 * 400).map(|at| if (at / 400 + at) % 2 == 0 { 255 } else { 0 });
    let pixels = squares.map(|grey| RGBA::new(grey, grey, grey, 255)).collect();
    let (_, image) = scaled(&Canvas { width: 400, pixels }.png().unwrap(), LIMITS);
    let middle = image.samples[(100 * 200 + 100) * 3];
    assert!((120..136).contains(&middle), "{middle}");
}

#[test]
fn photographs_stay_jpeg_and_keep_their_metadata() {
    let exif = b"MM\0*\0\0\0\x08\0\0";
    let photo = noise(1000, 500, 255).jpeg(Some(exif)).unwrap();
    let (scaled, image) = scaled(&photo, LIMITS);
    assert_eq!((scaled.size, image.media_type), ((200, 100), "image/jpeg"));
    assert_eq!(image.exif.as_deref(), Some(&exif[..]));
}

#[test]
fn what_is_too_large_as_png_becomes_jpeg_and_then_smaller() {
    let png = noise(200, 200, 255).png().unwrap();
    assert!(png.len() > LIMITS.max_bytes);
    let (scaled_once, image) = scaled(&png, LIMITS);
    assert_eq!((scaled_once.size, image.media_type), ((200, 200), "image/jpeg"));
    let (smaller, _) = scaled(&png, ImageLimits { max_bytes: 5000, ..LIMITS });
    assert!(smaller.size.0 < 150 && smaller.bytes.len() <= 5000, "{:?}", smaller.size);
    assert_eq!(scale(&png, ImageLimits { max_bytes: 100, ..LIMITS }), Err(TOO_LARGE));
    // What is no image follows the end of this one.
    let padded = [picture(8, 8), vec![0; 200_000]].concat();
    let (same, image) = scaled(&padded, LIMITS);
    assert_eq!((same.size, image.media_type), ((8, 8), "image/png"));
}

#[test]
fn transparency_stays_or_becomes_white() {
    let (_, image) = scaled(&noise(300, 300, 0).png().unwrap(), LIMITS);
    assert_eq!(image.samples.len(), 200 * 200 * 4);
    assert!(image.samples.chunks(4).all(|pixel| pixel[3] == 0));
    let image = decode(&noise(64, 64, 0).jpeg(None).unwrap()).unwrap();
    assert!(image.samples.iter().all(|sample| *sample > 250));
}

#[test]
fn only_the_first_frame_of_an_animation_is_scaled() {
    let limits = ImageLimits { max_side: 4, ..LIMITS };
    for animated in [animation(3), web_picture()] {
        let (scaled, image) = scaled(&animated, limits);
        assert_eq!((scaled.size, image.media_type), ((4, 4), "image/png"));
    }
    // A frame that covers the lower right quarter.
    let mut bytes = Vec::new();
    let mut encoder = gif::Encoder::new(&mut bytes, 8, 8, &[0, 0, 0, 255, 255, 255]).unwrap();
    let buffer = std::borrow::Cow::Owned(vec![1; 16]);
    let frame =
        gif::Frame { left: 4, top: 4, width: 4, height: 4, buffer, ..gif::Frame::default() };
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    let image = decode(&bytes).unwrap();
    let opaque = image.samples.chunks(4).map(|pixel| pixel[3] == 255);
    let expected = (0..64).map(|at| at % 8 >= 4 && at / 8 >= 4);
    assert!(opaque.eq(expected));
}

#[test]
fn broken_images_and_bombs_are_rejected() {
    let whole = picture(400, 400);
    assert_eq!(scale(&whole[..whole.len() - 20], LIMITS), Err(BROKEN));
    assert_eq!(scale(&picture(8192, 8192), LIMITS), Err(TOO_LARGE));
    assert_eq!(scale(b"<html>", LIMITS), Err(MediaError::UnknownImage));
}
