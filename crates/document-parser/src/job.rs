//! Jobs and results of workers.

use std::mem;

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

/// The result of a job. Its text or image is the body of a frame, the rest is the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Parsed {
    Page(Document),
    File(FileText),
    /// The media type of an image or audio.
    Media(String),
    /// `None` if the image is within the limits.
    Scaled(Option<ScaledImage>),
}

/// Parses a document in this process. Only workers call this.
pub fn parse(job: &Job, bytes: &[u8]) -> Result<Parsed, Rejection> {
    match job {
        Job::Page(page) => page::document(page, bytes).map(Parsed::Page),
        Job::File(format) => file::read(*format, bytes).map(Parsed::File),
        Job::Image => Ok(Parsed::Media(image::check(bytes)?.to_owned())),
        Job::Scale(limits) => Ok(Parsed::Scaled(scale::scale(bytes, *limits)?)),
        Job::Audio(kind) => Ok(Parsed::Media(audio::check(bytes, *kind)?.to_owned())),
    }
}

impl Parsed {
    pub(crate) fn take_body(&mut self) -> Vec<u8> {
        match self {
            Self::Page(page) => mem::take(&mut page.content).into_bytes(),
            Self::File(file) => mem::take(&mut file.text).into_bytes(),
            Self::Scaled(Some(image)) => mem::take(&mut image.bytes),
            Self::Media(_) | Self::Scaled(None) => Vec::new(),
        }
    }

    /// The result with its body; `None` if it does not match the job.
    pub(crate) fn with_body(mut self, job: &Job, body: Vec<u8>) -> Option<Self> {
        match (&mut self, job) {
            (Self::Page(page), Job::Page(_)) => page.content = String::from_utf8(body).ok()?,
            (Self::File(file), Job::File(_)) => file.text = String::from_utf8(body).ok()?,
            (Self::Scaled(Some(image)), Job::Scale(_)) => image.bytes = body,
            (Self::Scaled(None), Job::Scale(_)) => {}
            (Self::Media(name), Job::Image | Job::Audio(_)) => {
                media_type::of_media(name)?;
            }
            _ => return None,
        }
        Some(self)
    }
}
