//! Asks an upstream for media: translates the validated input, and checks the result.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use document_parser::{AudioKind, Error, Pool, Rejection};
use http::Uri;
use ledger::MemberId;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use wire::error::Code;

use crate::billing::Progress;
use crate::catalogue::Target;
use crate::config::{self, Capability, Config};
use crate::failure::{ApiError, ApiResult};
use crate::provider::espeak::{self, Speech};
use crate::provider::{Failure, IMAGES_PATH, Provider, SPEECH_PATH, Sender};
use crate::raw_object::RawObject;

#[derive(Debug)]
pub(super) struct Made {
    pub(super) media_type: &'static str,
    pub(super) bytes: Bytes,
    pub(super) sha256: [u8; 32],
}

pub(super) struct Maker<'a> {
    pub(super) config: &'a Config,
    pub(super) parser: &'a Pool,
    pub(super) target: &'a Target,
    pub(super) progress: &'a Progress,
    pub(super) sender: Sender,
    /// Parsers are shared fairly between members.
    pub(super) member: MemberId,
}

impl Maker<'_> {
    /// Asks the upstream, and returns what it made if all of it is valid.
    pub(super) async fn make(&self, input: MediaInput) -> Result<Vec<Made>, Failure> {
        let made = timeout(self.config.limits.max_stream, self.ask(input)).await;
        made.map_err(|_| Failure::Gone("the response took too long"))?
    }

    async fn ask(&self, input: MediaInput) -> Result<Vec<Made>, Failure> {
        let provider = &self.target.provider;
        match input {
            MediaInput::Images { body, max } => {
                let answer = self.answer(IMAGES_PATH, body, provider.max_answer_bytes).await?;
                self.images(answer, max).await
            }
            MediaInput::Speech { body, kind } => {
                let answer = self.answer(SPEECH_PATH, body, self.max_bytes()).await?;
                Ok(vec![self.audio(answer, kind).await?])
            }
            MediaInput::Program(speech) => {
                let max_bytes = self.config.artifacts.max_bytes;
                let voice = &self.target.name;
                let audio = espeak::speak(provider, voice, &speech, max_bytes).await?;
                self.progress.set(true);
                Ok(vec![self.audio(audio, AudioKind::Container).await?])
            }
        }
    }

    fn max_bytes(&self) -> usize {
        usize::try_from(self.config.artifacts.max_bytes).unwrap_or(usize::MAX)
    }

    async fn answer(&self, path: &str, body: Bytes, max: usize) -> Result<Bytes, Failure> {
        let sent = self.target.provider.send(path, body.into(), None, self.sender).await;
        let mut upstream = sent.map_err(|failure| match failure {
            // The member's input decides.
            Failure::Late => Failure::Gone("the response timed out"),
            failure => failure,
        })?;
        self.progress.set(true);
        upstream.read(max).await
    }

    async fn images(&self, answer: Bytes, max: usize) -> Result<Vec<Made>, Failure> {
        let list = images(&answer)?;
        drop(answer);
        if list.is_empty() {
            return Err(Failure::Malformed("the response contains no image"));
        }
        if list.len() > max {
            return Err(Failure::Malformed("the response contains more images than requested"));
        }
        let mut files = Vec::with_capacity(list.len());
        for image in list {
            let bytes = image.bytes(&self.target.provider, self.max_bytes()).await?;
            let checked = self.parser.image(Some(self.member.0), &bytes).await;
            files.push(checked_file(checked, bytes)?);
        }
        Ok(files)
    }

    async fn audio(&self, bytes: Bytes, kind: AudioKind) -> Result<Made, Failure> {
        let checked = self.parser.audio(Some(self.member.0), kind, &bytes).await;
        checked_file(checked, bytes)
    }
}

#[derive(Deserialize)]
pub(super) struct ImageData {
    b64_json: Option<String>,
    url: Option<String>,
}

impl ImageData {
    pub(super) async fn bytes(
        self,
        provider: &Provider,
        max_bytes: usize,
    ) -> Result<Bytes, Failure> {
        match (self.b64_json, self.url) {
            (Some(text), _) => decoded(&text, max_bytes),
            (None, Some(url)) => fetch(provider, &url, max_bytes).await,
            (None, None) => Err(Failure::Malformed("the response contains no image")),
        }
    }
}

pub(super) const ELSEWHERE: &str = "the response contains an image URL on another host, which is \
                                    not fetched; set `response_format: b64_json`";

fn decoded(text: &str, max_bytes: usize) -> Result<Bytes, Failure> {
    if text.len() / 4 * 3 > max_bytes.saturating_add(2) {
        return Err(Failure::Malformed("the response is too large"));
    }
    let bytes = STANDARD.decode(text.trim_ascii());
    bytes.map(Bytes::from).map_err(|_| Failure::Malformed("the image is not valid base64"))
}

/// Downloads an image from the URL in an answer, only from the upstream itself: other URLs may
/// lead to private hosts, including this machine.
async fn fetch(provider: &Provider, url: &str, max_bytes: usize) -> Result<Bytes, Failure> {
    let uri: Uri =
        url.parse().map_err(|_| Failure::Malformed("the response contains an invalid URL"))?;
    let is_own = uri.scheme() == Some(&provider.base.scheme)
        && uri.authority() == Some(&provider.base.authority);
    if !is_own {
        return Err(Failure::Malformed(ELSEWHERE));
    }
    provider.fetch(uri, max_bytes).await
}

/// The images of an answer of the OpenAI API.
pub(super) fn images(answer: &[u8]) -> Result<Vec<ImageData>, Failure> {
    #[derive(Deserialize)]
    struct Images {
        data: Vec<ImageData>,
    }
    let list: Result<Images, _> = serde_json::from_slice(answer);
    list.map(|list| list.data).map_err(|_| Failure::Malformed("invalid response"))
}

pub(super) fn invalid(error: &Error) -> Failure {
    Failure::Malformed(match error {
        Error::Rejected(Rejection::Media(why)) => why.as_str(),
        _ => "the response could not be checked",
    })
}

/// A checked file, or why it is invalid.
fn checked_file(checked: Result<&'static str, Error>, bytes: Bytes) -> Result<Made, Failure> {
    let media_type = checked.map_err(|error| invalid(&error))?;
    let sha256 = Sha256::digest(&bytes).into();
    Ok(Made { media_type, bytes, sha256 })
}

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
        (Capability::Image, config::Kind::OpenAi) => images_input(input, &target.name, media),
        (Capability::Speech, config::Kind::OpenAi) => speech_input(input, &target.name, media),
        (Capability::Speech, config::Kind::Espeak) => program_input(input, media),
        _ => {
            let message = format!("the provider of `{}` does not generate media", target.id);
            Err(ApiError::of_param(Code::ModelNotForCapability, "model", message))
        }
    }
}

fn images_input(input: &RawObject<'_>, model: &str, media: config::Media) -> ApiResult<MediaInput> {
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

fn speech_input(input: &RawObject<'_>, model: &str, media: config::Media) -> ApiResult<MediaInput> {
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

fn program_input(input: &RawObject<'_>, media: config::Media) -> ApiResult<MediaInput> {
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
