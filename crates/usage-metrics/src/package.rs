//! A package as a typed value: read from bytes that are valid, written as bytes that are.

mod counter;
mod read;
mod split;

pub use counter::Counter;
pub use read::ReadError;
pub use split::{MAX_PACKAGE_BYTES, split};

use serde::Serialize;

use crate::catalogue::{Architecture, InstallMethod, OsFamily, SCHEMA_VERSION};

/// One package. The fields stand in the order in which they are written: by key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// When its newest counter was stored.
    pub generated_at: String,
    /// The installation; never leaves it.
    pub install_id: String,
    /// What was counted.
    pub metrics: Vec<Metric>,
    /// Identifies the package; equal ids mean equal bytes.
    pub package_id: String,
    /// First moment after the period.
    pub period_end: String,
    /// First moment of the period.
    pub period_start: String,
    /// What the counters were counted on.
    pub resource: Resource,
    /// Always the one schema version.
    pub schema_version: SchemaVersion,
}

/// The constant of the schema version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchemaVersion;

impl Serialize for SchemaVersion {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(SCHEMA_VERSION)
    }
}

/// What counters were counted on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Resource {
    /// Version of the client.
    pub agent_version: String,
    /// Processor architecture.
    pub architecture: Architecture,
    /// How the client was installed.
    pub install_method: InstallMethod,
    /// Operating system family.
    pub os_family: OsFamily,
}

/// One entry: a counter and how often it was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// What was counted.
    pub counter: Counter,
    /// How often, at least 1.
    pub value: u64,
}

impl Package {
    /// The package as it stands in a file: two spaces of indent, keys sorted, a final newline.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Serialising plain data to memory cannot fail.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// The package on one line, without a final newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
