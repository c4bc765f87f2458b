//! Protocol versions, their two eras, and the parameters of `initialize`.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::{Value, json};

use crate::config::ServerEntry;
use crate::host::Host;
use crate::message::Params;

/// The versions with a handshake, newest first.
pub const LEGACY_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The version without sessions.
pub const STATELESS_VERSION: &str = "2026-07-28";

/// The extension by which a stateless server may run a call as a task.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Era {
    /// A handshake, then a session.
    #[default]
    Legacy,
    /// Every request is self-contained.
    Stateless,
}

/// The client capabilities for this server: those of the host, roots where the entry allows them,
/// and tasks. A legacy server runs a call as a task only if the call asks for it.
pub(crate) fn client_capabilities(entry: &ServerEntry, host: &Host, era: Era) -> Value {
    let mut capabilities = host.requests.capabilities(entry);
    if let Some(capabilities) = capabilities.as_object_mut() {
        if entry.roots && host.workspace.is_some() {
            capabilities.insert("roots".to_owned(), json!({}));
        }
        if era == Era::Stateless {
            capabilities.insert("extensions".to_owned(), json!({ TASKS_EXTENSION: {} }));
        }
    }
    capabilities
}

pub(crate) fn roots(entry: &ServerEntry, host: &Host) -> Value {
    let workspace = host.workspace.as_deref().filter(|_| entry.roots);
    let roots: Vec<Value> = workspace
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            json!({ "uri": file_uri(path), "name": name })
        })
        .collect();
    json!({ "roots": roots })
}

fn file_uri(path: &Path) -> String {
    const KEPT: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    format!("file://{}", percent_encode(path.as_os_str().as_encoded_bytes(), KEPT))
}

pub(crate) fn initialize_params(entry: &ServerEntry, host: &Host) -> Params {
    let identity = &host.identity;
    Params::default()
        .with("protocolVersion", LEGACY_VERSIONS[0])
        .with("capabilities", &client_capabilities(entry, host, Era::Legacy))
        .with("clientInfo", &json!({ "name": identity.name, "version": identity.version }))
}

#[cfg(test)]
mod tests;
