//! Answers that are kept for whoever asks again with the same idempotency key.

/// An answer, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The media type.
    pub content_type: String,
    /// The body; of a stream, all its events.
    pub body: Vec<u8>,
}
