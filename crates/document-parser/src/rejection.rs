//! Reasons why a document has no text, or media cannot be used.

use serde::{Deserialize, Serialize};

/// Why a document has no result although its parser finished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Rejection {
    /// A media type that has no text.
    #[error("`{0}` is not a supported media type")]
    UnsupportedType(String),
    /// The document has no text.
    #[error("it has no text")]
    NoText,
    /// Not a PDF, or a damaged one.
    #[error("it is not a readable PDF")]
    DamagedPdf,
    /// A PDF that needs a password.
    #[error("it is an encrypted PDF")]
    EncryptedPdf,
    /// A PDF with pages but without text.
    #[error("it is a PDF without text; it may be a scan")]
    PdfWithoutText,
    /// A file that is named like a text but is none.
    #[error("it is not a text file")]
    NotText,
    /// A document that exceeds a size limit of its parser.
    #[error("it is too large")]
    TooLarge,
    /// The parser failed on it.
    #[error("it makes the parser fail")]
    ParserPanicked,
    /// Not an image or audio that can be used.
    #[error(transparent)]
    Media(#[from] MediaError),
}

/// Why bytes are no usable image or audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{}", self.as_str())]
pub enum MediaError {
    /// No bytes at all.
    EmptyImage,
    /// Not PNG, JPEG, GIF or WebP.
    UnknownImage,
    /// The decoder failed.
    BrokenImage,
    /// More pixels than are decoded.
    TooManyPixels,
    /// The end is missing.
    TruncatedImage,
    /// An animation without frames.
    NoImageFrame,
    /// No bytes at all.
    EmptyAudio,
    /// No known container.
    UnknownAudio,
    /// A container without a frame of sound.
    NoAudioFrame,
    /// Text where audio was expected.
    TextNotAudio,
}

impl MediaError {
    /// The reason as a part of a sentence about an upstream.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyImage => "its image is empty",
            Self::UnknownImage => "its answer is no image of a known kind",
            Self::BrokenImage => "its image cannot be decoded",
            Self::TooManyPixels => "its image has too many pixels",
            Self::TruncatedImage => "its image breaks off",
            Self::NoImageFrame => "its image has no frame",
            Self::EmptyAudio => "its audio is empty",
            Self::UnknownAudio => "its answer is no audio of a known kind",
            Self::NoAudioFrame => "its audio has no frame",
            Self::TextNotAudio => "its answer is text and no audio",
        }
    }
}
