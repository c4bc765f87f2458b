//! Packages as typed values.

mod counter;
mod read;

pub use counter::Counter;
pub use read::ReadError;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::catalogue::{Architecture, InstallMethod, OsFamily};

/// Maximum size of a package in bytes, as accepted by collectors.
pub const MAX_PACKAGE_BYTES: usize = 1024 * 1024;

/// A package. The fields are in the order of the file, which is sorted by key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// The time when the newest counter was stored.
    pub generated_at: String,
    /// The installation; a local id.
    pub install_id: String,
    pub metrics: Vec<Metric>,
    /// The id of the package; equal ids mean equal bytes.
    pub package_id: String,
    /// End of the period, exclusive.
    pub period_end: String,
    pub period_start: String,
    pub resource: Resource,
    pub schema_version: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resource {
    pub agent_version: String,
    pub architecture: Architecture,
    pub install_method: InstallMethod,
    pub os_family: OsFamily,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    pub counter: Counter,
    /// The value, at least 1.
    pub value: u64,
}

impl Resource {
    /// The fields with their names, sorted.
    pub fn fields(&self) -> [(&'static str, &str); 4] {
        [
            ("agent_version", &*self.agent_version),
            ("architecture", self.architecture.text()),
            ("install_method", self.install_method.text()),
            ("os_family", self.os_family.text()),
        ]
    }
}

impl Package {
    /// The file content: sorted keys, an indent of two spaces, a final newline.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Serializing plain data to memory cannot fail.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// The package on one line, without a final newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Splits the entries of `package` into ranges of at most `max_bytes` each.
///
/// The result is deterministic. An entry that exceeds the limit, which the catalogue rules out,
/// would be alone.
pub fn split(package: &Package, max_bytes: usize) -> Vec<Range<usize>> {
    let frame = Package { metrics: Vec::new(), ..package.clone() }.to_bytes().len();
    // The brackets of a non-empty array are on separate lines.
    let frame = frame + "\n  ".len();
    let mut parts = Vec::new();
    let (mut start, mut bytes) = (0, frame);
    for (at, metric) in package.metrics.iter().enumerate() {
        let entry = written_bytes(metric);
        if at > start && bytes + entry > max_bytes {
            parts.push(start..at);
            (start, bytes) = (at, frame);
        }
        bytes += entry;
    }
    if start < package.metrics.len() {
        parts.push(start..package.metrics.len());
    }
    parts
}

/// The bytes of an entry in a file, with separator and indent.
fn written_bytes(metric: &Metric) -> usize {
    let alone = serde_json::to_string_pretty(metric).unwrap_or_default();
    let lines = alone.lines().count();
    alone.len() + lines * "    ".len() + ",\n".len()
}
