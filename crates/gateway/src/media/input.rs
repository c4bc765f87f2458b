//! The input of a request for media: validated, and translated for its upstream.

use bytes::Bytes;
use document_parser::AudioKind;
use serde::Deserialize;
use serde_json::Value;
use wire::error::Code;

use crate::catalogue::Target;
use crate::config::{self, Capability};
use crate::failure::{ApiError, ApiResult};
use crate::provider::espeak::Speech;
use crate::raw_object::RawObject;

const MAX_PROMPT_CHARS: usize = 32_000;
/// For upstreams that require a voice.
const DEFAULT_VOICE: &str = "\"alloy\"";

#[derive(Debug)]
pub(super) enum MediaInput {
    /// At most `max` images.
    Images {
        body: Bytes,
        max: usize,
    },
    Speech {
        body: Bytes,
        kind: AudioKind,
    },
    Program(Speech),
}

/// The capability that an input uses: `text` asks for speech of a model that can do both.
pub(super) fn capability(input: &RawObject<'_>, offered: &[Capability]) -> Option<Capability> {
    let is_offered = |capability| offered.contains(&capability).then_some(capability);
    let first = if input.raw("text").is_some() { Capability::Speech } else { Capability::Image };
    let other = if first == Capability::Speech { Capability::Image } else { Capability::Speech };
    is_offered(first).or_else(|| is_offered(other))
}

pub(super) fn translate(
    input: &RawObject<'_>,
    capability: Capability,
    target: &Target,
    media: config::Media,
) -> ApiResult<MediaInput> {
    match (capability, target.provider.kind) {
        (Capability::Image, config::Kind::OpenAi) => images(input, &target.name, media),
        (Capability::Speech, config::Kind::OpenAi) => speech(input, &target.name, media),
        (Capability::Speech, config::Kind::Espeak) => program(input, media),
        _ => {
            let message = format!("the provider of `{}` does not generate media", target.id);
            Err(ApiError::of_param(Code::ModelNotForCapability, "model", message))
        }
    }
}

fn images(input: &RawObject<'_>, model: &str, media: config::Media) -> ApiResult<MediaInput> {
    required_text(input, "prompt", MAX_PROMPT_CHARS)?;
    let max = media.max_images;
    let count: Option<u32> = option(input, "n", "a whole number")?;
    if count.is_some_and(|count| !(1..=max).contains(&count)) {
        return Err(ApiError::invalid("input.n", format!("`input.n` must be from 1 to {max}")));
    }
    let model = Value::from(model).to_string();
    // The answer is checked as a whole before it is charged.
    let changes = [("model", Some(model.as_str())), ("stream", None), ("partial_images", None)];
    let body = input.rewrite(&changes).into();
    Ok(MediaInput::Images { body, max: usize::try_from(max).unwrap_or(1) })
}

fn speech(input: &RawObject<'_>, model: &str, media: config::Media) -> ApiResult<MediaInput> {
    let text = required_text(input, "text", max_chars(media))?;
    let format: Option<String> = option(input, "response_format", "a string")?;
    let is_raw = format.as_deref() == Some("pcm");
    let kind = if is_raw { AudioKind::Samples } else { AudioKind::Container };
    let (model, text) = (Value::from(model).to_string(), Value::from(text).to_string());
    let voice = input.raw("voice").unwrap_or(DEFAULT_VOICE);
    let changes = [
        ("model", Some(model.as_str())),
        ("text", None),
        ("input", Some(text.as_str())),
        ("voice", Some(voice)),
        ("stream", None),
        ("stream_format", None),
    ];
    Ok(MediaInput::Speech { body: input.rewrite(&changes).into(), kind })
}

fn program(input: &RawObject<'_>, media: config::Media) -> ApiResult<MediaInput> {
    const KNOWN: [&str; 4] = ["text", "speed", "pitch", "response_format"];
    let text = required_text(input, "text", max_chars(media))?;
    if let Some(name) = input.names().find(|name| !KNOWN.contains(name)) {
        let shown: String = name.chars().take(100).collect();
        let message = format!("unknown option `input.{shown}`; this provider supports {KNOWN:?}");
        return Err(ApiError::invalid(format!("input.{shown}"), message));
    }
    let format: Option<String> = option(input, "response_format", "a string")?;
    if format.is_some_and(|format| format != "wav") {
        let message = "`input.response_format` must be `wav` for this provider";
        return Err(ApiError::invalid("input.response_format", message));
    }
    let speed: f64 = option(input, "speed", "a number")?.unwrap_or(1.0);
    let pitch: u8 = option(input, "pitch", "a whole number")?.unwrap_or(50);
    if !(0.25..=4.0).contains(&speed) {
        return Err(ApiError::invalid("input.speed", "`input.speed` must be from 0.25 to 4"));
    }
    if pitch > 99 {
        return Err(ApiError::invalid("input.pitch", "`input.pitch` must be from 0 to 99"));
    }
    Ok(MediaInput::Program(Speech { text, speed, pitch }))
}

fn max_chars(media: config::Media) -> usize {
    usize::try_from(media.max_text_chars).unwrap_or(usize::MAX)
}

fn required_text(input: &RawObject<'_>, name: &'static str, max_chars: usize) -> ApiResult<String> {
    let wrong = |message: String| ApiError::invalid(format!("input.{name}"), message);
    let text: Option<String> = option(input, name, "a string")?;
    match text.filter(|text| !text.trim().is_empty()) {
        None => Err(wrong(format!("`input.{name}` is missing"))),
        Some(text) if text.chars().count() > max_chars => {
            Err(wrong(format!("`input.{name}` must be at most {max_chars} characters")))
        }
        Some(text) => Ok(text),
    }
}

/// A field of the input; errors name it with its place in the body.
fn option<'a, T: Deserialize<'a>>(
    input: &RawObject<'a>,
    name: &'static str,
    wanted: &str,
) -> ApiResult<Option<T>> {
    let value = input.read(name, wanted);
    let message = || format!("`input.{name}` must be {wanted}");
    value.map_err(|_| ApiError::invalid(format!("input.{name}"), message()))
}
