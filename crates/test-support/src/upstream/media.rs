//! Images and speech: `POST /v1/images/generations`, `POST /v1/audio/speech`, and files to
//! download.
//!
//! The bytes depend only on the request. A [`Step`](super::Step) defines the response as
//! everywhere; wrong bytes are [`Step::Raw`](super::Step::Raw).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::dialect::{CREATED, Dialect};
use crate::http::Reply;

/// The side of an image, in pixels.
const SIDE: u32 = 16;

/// A PNG whose pixels depend on a text.
pub fn png(text: &str) -> Vec<u8> {
    let mut noise = seed(text);
    let pixels: Vec<u8> = (0..SIDE * SIDE)
        .map(|_| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            noise.to_be_bytes()[0]
        })
        .collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIDE, SIDE);
    encoder.set_color(png::ColorType::Grayscale);
    // Compression would take more stack than a connection thread has.
    encoder.set_compression(png::Compression::NoCompression);
    let written = encoder.write_header().and_then(|mut image| {
        image.write_image_data(&pixels)?;
        image.finish()
    });
    written.expect("writing to memory does not fail");
    bytes
}

/// A WAV file whose samples depend on a text.
pub fn wav(text: &str) -> Vec<u8> {
    let samples: Vec<u8> = seed(text).to_be_bytes().repeat(100);
    let length = u32::try_from(samples.len()).unwrap_or_default();
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((length + 36).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x22\x56\0\0\x44\xac\0\0\x02\0\x10\0data");
    bytes.extend(length.to_le_bytes());
    bytes.extend(samples);
    bytes
}

/// Three frames of MP3, 128 kbit/s at 44.1 kHz.
pub fn mp3() -> Vec<u8> {
    let mut frame = vec![0xff, 0xfb, 0x90, 0x00];
    frame.resize(417, 0);
    frame.repeat(3)
}

pub(super) fn seed(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

pub(super) fn images(body: &Value) -> Reply {
    if body["stream"] == true {
        return refusal("`stream` is not supported");
    }
    let text = body["prompt"].as_str().unwrap_or_default();
    let count = body["n"].as_u64().unwrap_or(1);
    let image = |number: u64| {
        let words = if number == 0 { text.to_owned() } else { format!("{text} {number}") };
        json!({"b64_json": STANDARD.encode(png(&words)), "revised_prompt": text})
    };
    let data: Vec<Value> = (0..count).map(image).collect();
    Reply::json(200, json!({"created": CREATED, "data": data}).to_string())
}

pub(super) fn speech(body: &Value) -> Reply {
    if !body["voice"].is_string() || body["stream"] == true {
        return refusal("you must provide `voice`, and no `stream`");
    }
    let text = body["input"].as_str().unwrap_or_default();
    let (media_type, bytes) = match body["response_format"].as_str() {
        Some("wav") => ("audio/wav", wav(text)),
        Some("pcm") => ("audio/pcm", wav(text)[44..].to_vec()),
        _ => ("audio/mpeg", mp3()),
    };
    Reply::empty(200).header("Content-Type", media_type).body(bytes)
}

pub(super) fn refusal(message: &str) -> Reply {
    Reply::json(400, Dialect::Chat.error(400, message).to_string())
}
