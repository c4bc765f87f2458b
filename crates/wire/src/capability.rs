//! Bodies of the list of capabilities.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `GET /v1/capabilities`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapabilityList {
    /// `list`.
    pub object: String,
    /// What the service can do, whether or not it can do it now.
    pub data: Vec<Capability>,
}

/// Something the service can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capability {
    /// `chat`, `responses`, `research`, `image`, `speech`, `web_search` or `web_fetch`.
    pub id: String,
    /// Whether a request would be tried now.
    pub usable: bool,
    /// Why not, where it would not.
    pub reason: Option<String>,
    /// Who does it, of those that this key may use.
    pub models: Vec<CapableModel>,
}

/// Who does something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapableModel {
    /// The full id of a model, or the name of a provider of results.
    pub id: String,
    /// Whether it would be asked now.
    pub usable: bool,
    /// What a request costs.
    pub price_micros: i64,
}
