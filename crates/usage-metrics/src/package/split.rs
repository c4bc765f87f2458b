//! Splits entries into packages below a size.

use std::ops::Range;

use super::{Metric, Package};

/// The largest package in bytes, which collectors accept.
pub const MAX_PACKAGE_BYTES: usize = 1024 * 1024;

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
