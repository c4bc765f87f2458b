//! Images, audio and documents beside the text of a message, and their limits.
//!
//! The kind is determined by the bytes, not by the MIME type that a server claims: providers
//! reject a whole request because of one invalid image.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use document_parser::{ImageLimits, Limits, Pool, ScaledImage, WorkerProgram};
use mcp_client::content::{self, MAX_BLOB_BYTES, media_type};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum size of an image for a model: 5 MB as base64, the smallest limit of a provider.
pub const MAX_IMAGE_BYTES: usize = 3_750_000;
pub const MAX_FILE_BYTES: usize = 10 * 1024 * 1024;
/// Maximum number of attachments per request; the oldest are omitted.
pub(crate) const MAX_IN_REQUEST: usize = 20;
pub(crate) const MAX_REQUEST_BYTES: usize = 15 * 1024 * 1024;
/// Approximate tokens of an image. Recordings and documents cost more with their size.
const IMAGE_TOKENS: u64 = 1600;
/// Approximate bytes per token of a recording or document.
const FILE_BYTES_OF_A_TOKEN: u64 = 64;

const PARSERS: usize = 2;

/// What a model can be given beside text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MediaKind {
    Audio,
    Document,
    Image,
}

impl MediaKind {
    /// All kinds, the least supported ones first.
    pub(crate) const ALL: [Self; 3] = [Self::Audio, Self::Document, Self::Image];

    /// The default kinds, for a model whose service does not list them.
    pub(crate) fn usual() -> BTreeSet<Self> {
        BTreeSet::from([Self::Document, Self::Image])
    }

    pub(crate) fn listed(words: &[String]) -> BTreeSet<Self> {
        let kind = |word: &String| match word.as_str() {
            "image" | "images" | "vision" => Some(Self::Image),
            "audio" => Some(Self::Audio),
            "file" | "pdf" | "document" => Some(Self::Document),
            _ => None,
        };
        words.iter().filter_map(kind).collect()
    }

    pub fn plural(self) -> &'static str {
        match self {
            Self::Audio => "audio files",
            Self::Document => "documents",
            Self::Image => "images",
        }
    }

    pub(crate) fn of(mime: &str) -> Option<Self> {
        match mime {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Some(Self::Image),
            "audio/wav" | "audio/mpeg" => Some(Self::Audio),
            "application/pdf" => Some(Self::Document),
            _ => None,
        }
    }

    fn max_bytes(self) -> usize {
        match self {
            Self::Image => MAX_IMAGE_BYTES,
            Self::Audio | Self::Document => MAX_FILE_BYTES,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub kind: MediaKind,
    pub mime: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The bytes in base64.
    pub(crate) data: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentError {
    #[error("not an image, recording or document of a supported type")]
    Unsupported,
    #[error("{bytes} bytes; the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error(transparent)]
    Image(#[from] document_parser::Error),
}

impl Attachment {
    pub fn new(bytes: &[u8], name: Option<String>) -> Result<Self, AttachmentError> {
        let mime = media_type(bytes);
        let kind = MediaKind::of(mime).ok_or(AttachmentError::Unsupported)?;
        let (bytes_len, limit) = (bytes.len(), kind.max_bytes());
        if bytes_len > limit {
            return Err(AttachmentError::TooLarge { bytes: bytes_len, limit });
        }
        Ok(Self { kind, mime: mime.to_owned(), name, data: STANDARD.encode(bytes) })
    }

    /// The size without base64.
    pub fn bytes(&self) -> usize {
        let padding = self.data.bytes().rev().take_while(|byte| *byte == b'=').count();
        self.data.len() / 4 * 3 - padding
    }

    pub(crate) fn tokens(&self) -> u64 {
        match self.kind {
            MediaKind::Image => IMAGE_TOKENS,
            MediaKind::Audio | MediaKind::Document => {
                IMAGE_TOKENS + self.bytes() as u64 / FILE_BYTES_OF_A_TOKEN
            }
        }
    }

    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.data)
    }

    pub(crate) fn file_name(&self) -> &str {
        self.name.as_deref().unwrap_or("document.pdf")
    }

    pub(crate) fn audio_format(&self) -> &'static str {
        if self.mime == "audio/mpeg" { "mp3" } else { "wav" }
    }
}

/// The description for people and for models that do not get the attachment.
impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes", self.mime, self.bytes())
    }
}

// The data would fill the screen.
impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attachment({self})")
    }
}

/// Creates attachments from bytes. Images that are too large for models are scaled by a confined
/// parser process, which starts with the first image: servers can send anything.
#[derive(Debug)]
pub struct Attacher {
    parser: WorkerProgram,
    limits: ImageLimits,
    pool: OnceLock<Pool>,
}

impl Attacher {
    /// The longer side of images is scaled to at most this number of pixels.
    pub fn new(parser: WorkerProgram, max_side: u16) -> Self {
        let limits = ImageLimits { max_side, max_bytes: MAX_IMAGE_BYTES };
        Self { parser, limits, pool: OnceLock::new() }
    }

    /// The attachment, and a note if it was scaled.
    pub async fn attach(
        &self,
        bytes: &[u8],
        name: Option<String>,
    ) -> Result<(Attachment, Option<ScaledImage>), AttachmentError> {
        let scaled = match MediaKind::of(media_type(bytes)) {
            Some(MediaKind::Image) if bytes.len() > MAX_BLOB_BYTES => {
                let (bytes, limit) = (bytes.len(), MAX_BLOB_BYTES);
                return Err(AttachmentError::TooLarge { bytes, limit });
            }
            Some(MediaKind::Image) => {
                let new = || Pool::new(self.parser.clone(), Limits::default(), PARSERS);
                self.pool.get_or_init(new).scaled(self.limits, bytes).await?
            }
            _ => None,
        };
        let bytes = scaled.as_ref().map_or(bytes, |image| &image.bytes);
        Ok((Attachment::new(bytes, name)?, scaled))
    }

    /// The attachments of a result for a model that accepts these kinds. The text notes what was
    /// scaled or omitted.
    pub(crate) async fn attach_all(
        &self,
        all: &[content::Attachment],
        accepts: &BTreeSet<MediaKind>,
        text: &mut String,
    ) -> Vec<Attachment> {
        let mut attached = Vec::new();
        for (at, one) in all.iter().enumerate() {
            let note = match MediaKind::of(media_type(&one.bytes)) {
                Some(kind) if !accepts.contains(&kind) => {
                    format!("not shown: you cannot be given {}", kind.plural())
                }
                _ => match self.attach(&one.bytes, None).await {
                    Ok((attachment, scaled)) => {
                        attached.push(attachment);
                        match scaled {
                            Some(ScaledImage { original_size: was, size: is, .. }) if was != is => {
                                format!(
                                    "scaled from {}x{} to {}x{} pixels",
                                    was.0, was.1, is.0, is.1
                                )
                            }
                            _ => continue,
                        }
                    }
                    Err(error) => format!("not shown: {error}"),
                },
            };
            text.push_str(&format!("\n[attachment {} is {note}]", at + 1));
        }
        attached
    }
}

#[cfg(test)]
mod tests;
