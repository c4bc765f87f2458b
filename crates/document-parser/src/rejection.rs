//! Reasons why a document has no text, or media cannot be used.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Rejection {
    #[error("unsupported media type `{0}`")]
    UnsupportedType(String),
    #[error("it has no text")]
    NoText,
    #[error("it is not a valid PDF")]
    DamagedPdf,
    #[error("it is an encrypted PDF")]
    EncryptedPdf,
    #[error("it is a PDF without text; it may be a scan")]
    PdfWithoutText,
    #[error("it is not a text file")]
    NotText,
    #[error("it is too large")]
    TooLarge,
    #[error("it crashes the parser")]
    ParserPanicked,
    #[error(transparent)]
    Media(#[from] MediaError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{}", self.as_str())]
pub enum MediaError {
    EmptyImage,
    UnknownImage,
    BrokenImage,
    TooManyPixels,
    TruncatedImage,
    NoImageFrame,
    EmptyAudio,
    UnknownAudio,
    NoAudioFrame,
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
