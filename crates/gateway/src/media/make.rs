//! Asks an upstream for media, and checks the result.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use document_parser::{AudioKind, Error, Pool, Rejection};
use http::Uri;
use ledger::MemberId;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::input::MediaInput;
use crate::billing::Progress;
use crate::catalogue::Target;
use crate::config::Config;
use crate::provider::{Failure, IMAGES_PATH, Provider, SPEECH_PATH, Sender, espeak};

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
