//! Protocol versions, their two eras, and the parameters of `initialize`.

use std::fmt;

use serde_json::json;

use crate::config::ServerEntry;
use crate::host::Host;
use crate::message::Params;

/// The versions with a handshake, newest first.
pub const LEGACY_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The version without sessions.
pub const STATELESS_VERSION: &str = "2026-07-28";

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// A handshake, then a session.
    Legacy,
    /// Every request is self-contained.
    Stateless,
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Stateless => "stateless",
        })
    }
}

pub(crate) fn initialize_params(entry: &ServerEntry, host: &Host) -> Params {
    let identity = &host.identity;
    Params::new()
        .with("protocolVersion", LEGACY_VERSIONS[0])
        .with("capabilities", &host.requests.capabilities(entry))
        .with("clientInfo", &json!({ "name": identity.name, "version": identity.version }))
}
