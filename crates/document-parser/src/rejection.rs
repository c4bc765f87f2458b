//! Reasons why a document has no text, or media cannot be used.

use serde::{Deserialize, Serialize};

/// Why a document has no result although its parser finished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Rejection {
    /// A media type that has no text.
    #[error("unsupported media type `{0}`")]
    UnsupportedType(String),
    /// The document has no text.
    #[error("it has no text")]
    NoText,
    /// Not a PDF, or a corrupt one.
    #[error("it is not a valid PDF")]
    DamagedPdf,
    /// A PDF that needs a password.
    #[error("it is an encrypted PDF")]
    EncryptedPdf,
    /// A PDF with pages but without text.
    #[error("it is a PDF without text; it may be a scan")]
    PdfWithoutText,
    /// A file with the name of a text file but binary content.
    #[error("it is not a text file")]
    NotText,
    /// A document that exceeds a size limit of its parser.
    #[error("it is too large")]
    TooLarge,
    #[error("it crashes the parser")]
    ParserPanicked,
    /// An unusable image or audio file.
    #[error(transparent)]
    Media(#[from] MediaError),
}

/// Why an image or audio file is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{}", self.as_str())]
pub enum MediaError {
    /// No bytes.
    EmptyImage,
    /// Not PNG, JPEG, GIF or WebP.
    UnknownImage,
    /// The decoder failed.
    BrokenImage,
    /// More pixels than allowed.
    TooManyPixels,
    /// The end is missing.
    TruncatedImage,
    /// An animation without frames.
    NoImageFrame,
    /// No bytes.
    EmptyAudio,
    /// No known container.
    UnknownAudio,
    /// A container without a frame of sound.
    NoAudioFrame,
    /// Text where audio was expected.
    TextNotAudio,
}

impl MediaError {
    /// The reason, as part of a sentence about an upstream.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyImage => "its image is empty",
            Self::UnknownImage => "its response is not a supported image format",
            Self::BrokenImage => "its image cannot be decoded",
            Self::TooManyPixels => "its image has too many pixels",
            Self::TruncatedImage => "its image is truncated",
            Self::NoImageFrame => "its image has no frame",
            Self::EmptyAudio => "its audio is empty",
            Self::UnknownAudio => "its response is not a supported audio format",
            Self::NoAudioFrame => "its audio has no frame",
            Self::TextNotAudio => "its response is text instead of audio",
        }
    }
}
