//! What is kept beside a file: where it came from, and what it was then.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config;
use crate::diagnostic::Diagnostic;

const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// Where a file came from. Without a record a file is as good as with one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) source: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) added: String,
}

impl Record {
    /// The record of a file; what cannot be read is none.
    pub(crate) fn load(path: &Path) -> Option<Self> {
        let mut text = Vec::new();
        File::open(path).ok()?.take(MAX_RECORD_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(crate) fn save(&self, path: &Path) -> Result<(), Diagnostic> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        config::write(path, &format!("{text}\n"))
    }
}
