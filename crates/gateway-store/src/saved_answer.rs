//! Answers that are stored for later requests with the same idempotency key.

/// An HTTP answer, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedAnswer {
    pub status: u16,
    pub content_type: String,
    /// The body; all events of a stream.
    pub body: Vec<u8>,
}
