//! What a member asks for: checked, and put into an upstream's words.

use bytes::Bytes;
use document_parser::AudioKind;
use serde_json::Value;
use wire::error::Code;

use super::espeak::Speech;
use crate::catalogue::Target;
use crate::config::{self, Capability};
use crate::envelope::Envelope;
use crate::failure::ApiError;

/// The paths of upstreams that make media.
pub(crate) const IMAGES_PATH: &str = "/images/generations";
pub(crate) const SPEECH_PATH: &str = "/audio/speech";

/// The longest prompt of an image, in characters.
const MAX_PROMPT_CHARS: usize = 32_000;
/// The voice of upstreams that want one, unless the member names another.
const USUAL_VOICE: &str = "\"alloy\"";

/// A question in an upstream's words.
#[derive(Debug)]
pub(super) enum Question {
    /// Images, so many at most.
    Images { body: Bytes, max: usize },
    /// Speech of an upstream.
    Speech { body: Bytes, kind: AudioKind },
    /// Speech of a program.
    Program(Speech),
}

/// What a model is used for by this input. A model that can do both is told apart by what it is
/// given.
pub(super) fn capability(input: &Envelope<'_>, offered: &[Capability]) -> Option<Capability> {
    let is_offered = |capability| offered.contains(&capability).then_some(capability);
    let first = if input.raw("text").is_some() { Capability::Speech } else { Capability::Image };
    let other = if first == Capability::Speech { Capability::Image } else { Capability::Speech };
    is_offered(first).or_else(|| is_offered(other))
}

/// Puts an input into the words of a model's provider.
pub(super) fn question(
    input: &Envelope<'_>,
    capability: Capability,
    target: &Target,
    media: &config::Media,
) -> Result<Question, ApiError> {
    match (capability, target.provider.kind) {
        (Capability::Image, config::Kind::OpenAi) => images(input, &target.name, media),
        (Capability::Speech, config::Kind::OpenAi) => speech(input, &target.name, media),
        (Capability::Speech, config::Kind::Espeak) => program(input, media),
        _ => {
            let message = format!("the provider of `{}` makes no media", target.id);
            Err(ApiError::of_param(Code::ModelNotForCapability, "model", message))
        }
    }
}

fn images(input: &Envelope<'_>, model: &str, media: &config::Media) -> Result<Question, ApiError> {
    required_text(input, "prompt", MAX_PROMPT_CHARS)?;
    let max = media.max_images;
    let count: Option<u32> = input.read("n", "a whole number").map_err(|error| within(&error))?;
    if count.is_some_and(|count| !(1..=max).contains(&count)) {
        let message = format!("`input.n` must be from 1 to {max}");
        return Err(ApiError::of_param(Code::InvalidRequest, "input.n", message));
    }
    let model = Value::from(model).to_string();
    // The answer is checked as a whole before it is paid for.
    let changes = [("model", Some(model.as_str())), ("stream", None), ("partial_images", None)];
    let body = input.rewrite(&changes).into();
    Ok(Question::Images { body, max: usize::try_from(max).unwrap_or(1) })
}

fn speech(input: &Envelope<'_>, model: &str, media: &config::Media) -> Result<Question, ApiError> {
    let text = required_text(input, "text", max_chars(media))?;
    let format: Option<String> =
        input.read("response_format", "a string").map_err(|error| within(&error))?;
    let is_raw = format.as_deref() == Some("pcm");
    let kind = if is_raw { AudioKind::Samples } else { AudioKind::Container };
    let (model, text) = (Value::from(model).to_string(), Value::from(text).to_string());
    let voice = input.raw("voice").unwrap_or(USUAL_VOICE);
    let changes = [
        ("model", Some(model.as_str())),
        ("text", None),
        ("input", Some(text.as_str())),
        ("voice", Some(voice)),
        ("stream", None),
        ("stream_format", None),
    ];
    Ok(Question::Speech { body: input.rewrite(&changes).into(), kind })
}

fn program(input: &Envelope<'_>, media: &config::Media) -> Result<Question, ApiError> {
    const KNOWN: [&str; 4] = ["text", "speed", "pitch", "response_format"];
    let text = required_text(input, "text", max_chars(media))?;
    if let Some(name) = input.names().find(|name| !KNOWN.contains(name)) {
        let shown: String = name.chars().take(100).collect();
        let message = format!("this provider does not know `input.{shown}`; it knows {KNOWN:?}");
        return Err(ApiError::of_param(Code::InvalidRequest, format!("input.{shown}"), message));
    }
    let format: Option<String> =
        input.read("response_format", "a string").map_err(|error| within(&error))?;
    if format.is_some_and(|format| format != "wav") {
        let message = "`input.response_format` of this provider is `wav`";
        return Err(ApiError::of_param(Code::InvalidRequest, "input.response_format", message));
    }
    let speed: f64 =
        input.read("speed", "a number").map_err(|error| within(&error))?.unwrap_or(1.0);
    let pitch: u8 =
        input.read("pitch", "a whole number").map_err(|error| within(&error))?.unwrap_or(50);
    if !(0.25..=4.0).contains(&speed) {
        let message = "`input.speed` must be from 0.25 to 4";
        return Err(ApiError::of_param(Code::InvalidRequest, "input.speed", message));
    }
    if pitch > 99 {
        let message = "`input.pitch` must be from 0 to 99";
        return Err(ApiError::of_param(Code::InvalidRequest, "input.pitch", message));
    }
    Ok(Question::Program(Speech { text, speed, pitch }))
}

fn max_chars(media: &config::Media) -> usize {
    usize::try_from(media.max_text_chars).unwrap_or(usize::MAX)
}

/// A text that must be there, with something in it.
fn required_text(
    input: &Envelope<'_>,
    name: &'static str,
    max_chars: usize,
) -> Result<String, ApiError> {
    let wrong = |message: String| {
        ApiError::of_param(Code::InvalidRequest, format!("input.{name}"), message)
    };
    let text: Option<String> = input.read(name, "a string").map_err(|error| within(&error))?;
    match text.filter(|text| !text.trim().is_empty()) {
        None => Err(wrong(format!("`input.{name}` is missing"))),
        Some(text) if text.chars().count() > max_chars => {
            Err(wrong(format!("`input.{name}` must be at most {max_chars} characters")))
        }
        Some(text) => Ok(text),
    }
}

/// A failure of a field that stands inside of `input`.
fn within(error: &ApiError) -> ApiError {
    let param = error.body().error.param.unwrap_or_default();
    let message = error.message().replacen('`', "`input.", 1);
    ApiError::of_param(error.code(), format!("input.{param}"), message)
}
