//! Texts in fields that clients must return unchanged, such as `encrypted_content`.
//!
//! The text is encoded, not encrypted: it comes from the client's own conversation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Distinguishes our texts from those of other services.
const PREFIX: &str = "agent.";

/// Encodes a text for an opaque field that the client returns.
pub fn encode(text: &str) -> String {
    format!("{PREFIX}{}", STANDARD_NO_PAD.encode(text))
}

/// The text of such a field, or `None` if another service wrote it.
pub fn decode(field: &str) -> Option<String> {
    let bytes = STANDARD_NO_PAD.decode(field.strip_prefix(PREFIX)?).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
