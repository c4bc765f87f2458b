//! Cuts entries into packages that stay below a size.

use std::ops::Range;

use super::{Metric, Package};

/// Largest package that is written, in bytes: what collectors of such packages accept.
pub const MAX_PACKAGE_BYTES: usize = 1024 * 1024;

/// How the entries of `package` are to be shared out so that each part is at most `max_bytes` long.
///
/// The same entries are always cut at the same places. An entry too large for any package, which
/// the catalogue rules out, would stand alone.
pub fn split(package: &Package, max_bytes: usize) -> Vec<Range<usize>> {
    let frame = Package { metrics: Vec::new(), ..package.clone() }.to_bytes().len();
    // The brackets of a filled array stand on lines of their own.
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

/// Bytes an entry takes in a written package, separator and indent included.
fn written_bytes(metric: &Metric) -> usize {
    let alone = serde_json::to_string_pretty(metric).unwrap_or_default();
    let lines = alone.lines().count();
    alone.len() + lines * "    ".len() + ",\n".len()
}
