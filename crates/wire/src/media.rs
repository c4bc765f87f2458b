//! Bodies of media requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `POST /v1/media/run` and `GET /v1/media/runs/{id}/manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MediaRun {
    /// `media.run`.
    pub object: String,
    /// The run.
    pub id: String,
    /// The full id of the model.
    pub model: String,
    /// What it was used for: `image` or `speech`.
    pub capability: String,
    /// What was made, in order.
    pub artifacts: Vec<Artifact>,
    /// What it cost.
    pub charge_micros: i64,
    /// When it was made, by RFC 3339.
    pub created_at: String,
    /// When it expires.
    pub expires_at: String,
}

/// A file that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// The artifact.
    pub id: String,
    /// Where its bytes are, for the same member.
    pub url: String,
    /// What it is, by its bytes.
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Their SHA-256 digest, as 64 hexadecimal digits.
    pub sha256: String,
}
