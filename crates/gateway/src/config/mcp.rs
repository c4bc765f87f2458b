//! Access to `/mcp`: `mcp`.

use schemars::JsonSchema;
use serde::Deserialize;
use settings::section;

use super::fetch::MAX_ALLOWED;

/// Who may speak to `/mcp`. A key is needed always; besides, requests must name this service by an
/// address, as `localhost`, or by the name in `public_url`, and pages in a browser must come from
/// there or from this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct Mcp {
    /// Further names by which this service is known.
    #[schemars(length(max = MAX_ALLOWED))]
    #[schemars(extend("items" = {"type": "string", "format": "host"}, "x-whole" = true))]
    pub allowed_hosts: Vec<String>,
    /// Further sites whose pages may speak to it.
    #[schemars(length(max = MAX_ALLOWED))]
    #[schemars(extend("items" = {"type": "string", "format": "origin"}, "x-whole" = true))]
    pub allowed_origins: Vec<String>,
}
