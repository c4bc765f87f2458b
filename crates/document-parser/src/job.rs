//! Jobs and results of workers.

use serde::{Deserialize, Serialize};

use crate::audio::{self, AudioKind};
use crate::file::{self, FileFormat, FileText};
use crate::image;
use crate::image::scale::{self, ImageLimits, ScaledImage};
use crate::media_type;
use crate::page::{self, Document, PageJob};
use crate::rejection::Rejection;

/// How to parse the bytes of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Job {
    Page(PageJob),
    File(FileFormat),
    /// An image; decoded, then discarded.
    Image,
    /// An image; scaled down if it exceeds the limits.
    Scale(ImageLimits),
    /// Audio, whose container is checked.
    Audio(AudioKind),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    Page(Document),
    File(FileText),
    /// The media type of an image or audio.
    Media(&'static str),
    /// `None` if the image is within the limits.
    Scaled(Option<ScaledImage>),
}

/// Parses a document in this process. Only workers call this.
pub fn parse(job: &Job, bytes: &[u8]) -> Result<Parsed, Rejection> {
    match job {
        Job::Page(page) => page::document(page, bytes).map(Parsed::Page),
        Job::File(format) => file::read(*format, bytes).map(Parsed::File),
        Job::Image => Ok(Parsed::Media(image::check(bytes)?)),
        Job::Scale(limits) => Ok(Parsed::Scaled(scale::scale(bytes, *limits)?)),
        Job::Audio(kind) => Ok(Parsed::Media(audio::check(bytes, *kind)?)),
    }
}

/// A reply without its text or image, which is the body of the frame.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Page(Document),
    File { title: Option<String> },
    Media(String),
    Scaled(Option<ScaledImage>),
    Rejected(Rejection),
}

impl Reply {
    /// Splits a result into the head and the body of a frame.
    pub(crate) fn from_result(result: Result<Parsed, Rejection>) -> (Self, Vec<u8>) {
        match result {
            Ok(Parsed::Page(mut page)) => {
                let content = std::mem::take(&mut page.content);
                (Self::Page(page), content.into_bytes())
            }
            Ok(Parsed::File(file)) => (Self::File { title: file.title }, file.text.into_bytes()),
            Ok(Parsed::Media(media_type)) => (Self::Media(media_type.to_owned()), Vec::new()),
            Ok(Parsed::Scaled(mut scaled)) => {
                let bytes = scaled.as_mut().map(|image| std::mem::take(&mut image.bytes));
                (Self::Scaled(scaled), bytes.unwrap_or_default())
            }
            Err(rejection) => (Self::Rejected(rejection), Vec::new()),
        }
    }

    /// The result of a reply to this job; `None` if the reply does not match the job.
    pub(crate) fn into_result(self, job: &Job, body: Vec<u8>) -> Option<Result<Parsed, Rejection>> {
        let text = |body| String::from_utf8(body).ok();
        let parsed = match (self, job) {
            (Self::Rejected(rejection), _) => return Some(Err(rejection)),
            (Self::Page(page), Job::Page(_)) => {
                Parsed::Page(Document { content: text(body)?, ..page })
            }
            (Self::File { title }, Job::File(_)) => {
                Parsed::File(FileText { title, text: text(body)? })
            }
            (Self::Scaled(scaled), Job::Scale(_)) => {
                Parsed::Scaled(scaled.map(|image| ScaledImage { bytes: body, ..image }))
            }
            (Self::Media(name), Job::Image | Job::Audio(_)) => {
                Parsed::Media(media_type::of_media(&name)?)
            }
            _ => return None,
        };
        Some(Ok(parsed))
    }
}
