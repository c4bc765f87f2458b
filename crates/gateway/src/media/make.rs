//! Has media made by an upstream, and checks what it gave.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Uri;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::audio::{self, Asked};
use super::input::{IMAGES_PATH, Question, SPEECH_PATH};
use super::{espeak, image};
use crate::catalogue::Target;
use crate::charge::Progress;
use crate::provider::{Failure, Provider, Sender};
use crate::service::Service;

/// How many are decoded at the same time: each may take some hundred megabytes.
const MAX_DECODED_AT_ONCE: usize = 2;
static DECODING: Semaphore = Semaphore::const_new(MAX_DECODED_AT_ONCE);

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
            Question::Speech { body, asked } => {
                let answer = self.answer(SPEECH_PATH, body, self.max_bytes()).await?;
                Ok(vec![checked(move || sound(answer, asked)).await?])
            }
            Question::Program(speech) => {
                let max_bytes = self.service.config.media.max_bytes;
                let voice = &self.target.name;
                let sound_of = espeak::speak(provider, voice, &speech, max_bytes).await?;
                self.progress.set(true);
                Ok(vec![checked(move || sound(sound_of, Asked::Container)).await?])
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
            made.push(match (found.b64_json, found.url) {
                (Some(text), _) => checked(move || picture(decoded(&text, max_bytes)?)).await?,
                (None, Some(url)) => {
                    let bytes = fetch(&self.target.provider, &url, max_bytes).await?;
                    checked(move || picture(bytes)).await?
                }
                (None, None) => return Err(Failure::Malformed("its answer has no image")),
            });
        }
        Ok(made)
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

fn picture(bytes: Bytes) -> Result<Made, Failure> {
    let media_type = image::check(&bytes).map_err(Failure::Malformed)?;
    Ok(made(media_type, bytes))
}

fn sound(bytes: Bytes, asked: Asked) -> Result<Made, Failure> {
    let media_type = audio::check(&bytes, asked).map_err(Failure::Malformed)?;
    Ok(made(media_type, bytes))
}

fn made(media_type: &'static str, bytes: Bytes) -> Made {
    let sha256 = Sha256::digest(&bytes).into();
    Made { media_type, bytes, sha256 }
}

/// Checks where it holds nobody up.
async fn checked(
    check: impl FnOnce() -> Result<Made, Failure> + Send + 'static,
) -> Result<Made, Failure> {
    let _turn = DECODING.acquire().await;
    let result = tokio::task::spawn_blocking(check).await;
    result.unwrap_or(Err(Failure::Malformed("its answer cannot be checked")))
}
