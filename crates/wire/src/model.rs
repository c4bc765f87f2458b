//! Bodies of the list of models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `GET /v1/models`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelList {
    /// `list`.
    pub object: String,
    /// The models the key may use.
    pub data: Vec<Model>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// The full id `<provider>/<model>`, or an alias of the operator.
    pub id: String,
    /// `model`.
    pub object: String,
    /// Since when it is offered, in seconds since 1970.
    pub created: i64,
    /// The provider.
    pub owned_by: String,
    /// What it can be used for.
    pub capabilities: Vec<String>,
    /// What a request costs.
    pub price_micros: i64,
    /// How much it reads, in tokens, where known.
    pub context_length: Option<u64>,
    /// Whether it can call tools; left out where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// What the operator says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
