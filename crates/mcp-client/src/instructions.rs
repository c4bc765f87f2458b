//! Whether the instructions of a server reach models: they are words of the server, which it can
//! change with every connection.

use crate::config::{ServerEntry, Trust};
use crate::content::injection_warnings;

pub(crate) const MAX_INSTRUCTION_BYTES: usize = 4096;

impl ServerEntry {
    /// Why models do not get these instructions, if they do not. `instructions` of the entry
    /// decides; without it, an untrusted server has none, nor has one whose words look like an
    /// injection.
    pub fn rejects_instructions(&self, text: &str) -> Option<&'static str> {
        match self.instructions {
            Some(true) => None,
            Some(false) => Some("`instructions` is off"),
            None if self.trust == Trust::Untrusted => Some("the server is untrusted"),
            None => injection_warnings(text).first().copied(),
        }
    }
}

#[cfg(test)]
mod tests;
