//! Has media made by an upstream, and checks what it gave.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use document_parser::{AudioKind, Error, Rejection};
use http::Uri;
use ledger::MemberId;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::espeak;
use super::input::{IMAGES_PATH, Question, SPEECH_PATH};
use crate::catalogue::Target;
use crate::charge::Progress;
use crate::provider::{Failure, Provider, Sender};
use crate::service::Service;

/// A file that was made and found good.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) media_type: &'static str,
    pub(super) bytes: Bytes,
    pub(super) sha256: [u8; 32],
}

/// The upstream that is asked, and what is told about it.
pub(super) struct Way<'a> {
    pub(super) service: &'a Service,
    pub(super) target: &'a Target,
    pub(super) progress: &'a Progress,
    pub(super) sender: Sender,
    /// Who asked: parsers are shared fairly between members.
    pub(super) member: MemberId,
}

impl Way<'_> {
    /// Asks the upstream, and gives what it made if all of it is good.
    pub(super) async fn ask(&self, question: Question) -> Result<Vec<Made>, Failure> {
        let made = self.make(question);
        let made = timeout(self.service.config.limits.max_stream, made).await;
        made.map_err(|_| Failure::Gone("its answer took too long"))?
    }

    async fn make(&self, question: Question) -> Result<Vec<Made>, Failure> {
        let provider = &self.target.provider;
        match question {
            Question::Images { body, max } => {
                let answer = self.answer(IMAGES_PATH, body, provider.max_answer_bytes).await?;
                self.images(answer, max).await
            }
            Question::Speech { body, kind } => {
                let answer = self.answer(SPEECH_PATH, body, self.max_bytes()).await?;
                Ok(vec![self.sound(answer, kind).await?])
            }
            Question::Program(speech) => {
                let max_bytes = self.service.config.media.max_bytes;
                let voice = &self.target.name;
                let sound_of = espeak::speak(provider, voice, &speech, max_bytes).await?;
                self.progress.set(true);
                Ok(vec![self.sound(sound_of, AudioKind::Container).await?])
            }
        }
    }

    fn max_bytes(&self) -> usize {
        usize::try_from(self.service.config.media.max_bytes).unwrap_or(usize::MAX)
    }

    async fn answer(&self, path: &str, body: Bytes, max: usize) -> Result<Bytes, Failure> {
        let sent = self.target.provider.send(path, body, self.sender).await;
        let mut upstream = sent.map_err(|failure| match failure {
            // How much there is to make, the member decided.
            Failure::Late => Failure::Gone("its answer did not come in time"),
            failure => failure,
        })?;
        self.progress.set(true);
        upstream.read(max).await
    }

    /// The images of an answer, in order.
    async fn images(&self, answer: Bytes, max: usize) -> Result<Vec<Made>, Failure> {
        let list: Images = serde_json::from_slice(&answer)
            .map_err(|_| Failure::Malformed("its answer is not as documented"))?;
        drop(answer);
        if list.data.is_empty() {
            return Err(Failure::Malformed("its answer has no image"));
        }
        if list.data.len() > max {
            return Err(Failure::Malformed("its answer has more images than were asked for"));
        }
        let mut made = Vec::with_capacity(list.data.len());
        for found in list.data {
            let max_bytes = self.max_bytes();
            let bytes = match (found.b64_json, found.url) {
                (Some(text), _) => decoded(&text, max_bytes)?,
                (None, Some(url)) => fetch(&self.target.provider, &url, max_bytes).await?,
                (None, None) => return Err(Failure::Malformed("its answer has no image")),
            };
            made.push(self.picture(bytes).await?);
        }
        Ok(made)
    }

    async fn picture(&self, bytes: Bytes) -> Result<Made, Failure> {
        let checked = self.service.parser.image(Some(self.member.0), &bytes).await;
        made(checked, bytes)
    }

    async fn sound(&self, bytes: Bytes, kind: AudioKind) -> Result<Made, Failure> {
        let checked = self.service.parser.audio(Some(self.member.0), kind, &bytes).await;
        made(checked, bytes)
    }
}

/// What is used of the answer for images.
#[derive(Deserialize)]
struct Images {
    data: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    b64_json: Option<String>,
    url: Option<String>,
}

fn decoded(text: &str, max_bytes: usize) -> Result<Bytes, Failure> {
    if text.len() / 4 * 3 > max_bytes.saturating_add(2) {
        return Err(Failure::Malformed("its answer is too large"));
    }
    let bytes = STANDARD.decode(text.trim_ascii());
    bytes.map(Bytes::from).map_err(|_| Failure::Malformed("its image is not base64"))
}

/// An image that the upstream names by its address. It is taken from the upstream itself only, where
/// our key is known; other addresses may lead anywhere, this machine included.
async fn fetch(provider: &Provider, url: &str, max_bytes: usize) -> Result<Bytes, Failure> {
    const ELSEWHERE: &str = "its answer names an image at another address, which is not fetched; \
                             ask it for `response_format: b64_json`";
    let uri: Uri = url.parse().map_err(|_| Failure::Malformed("its answer names no address"))?;
    let is_own = uri.scheme() == Some(&provider.base.scheme)
        && uri.authority() == Some(&provider.base.authority);
    if !is_own {
        return Err(Failure::Malformed(ELSEWHERE));
    }
    provider.fetch(uri, max_bytes).await
}

/// A file that was checked, or what is wrong with it.
fn made(checked: Result<&'static str, Error>, bytes: Bytes) -> Result<Made, Failure> {
    let media_type = checked.map_err(|error| {
        Failure::Malformed(match error {
            Error::Rejected(Rejection::Media(why)) => why.as_str(),
            _ => "its answer cannot be checked",
        })
    })?;
    let sha256 = Sha256::digest(&bytes).into();
    Ok(Made { media_type, bytes, sha256 })
}
