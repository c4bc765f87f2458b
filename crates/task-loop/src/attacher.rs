//! Creates attachments from bytes.
//!
//! Images that are too large for models are scaled by a confined parser process, which starts
//! with the first image: servers can send anything.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use document_parser::{ImageLimits, Limits, Pool, ScaledImage, WorkerProgram};
use mcp_client::content::{self, MAX_BLOB_BYTES, media_type};

use crate::attachment::{Attachment, AttachmentError, MAX_IMAGE_BYTES, MediaKind};

const PARSERS: usize = 2;

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
