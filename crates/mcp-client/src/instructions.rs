//! Decides whether the instructions of a server reach models: the server controls the text and
//! can change it with every connection.

use crate::config::{ServerEntry, Trust};
use crate::content::injection_warnings;

pub(crate) const MAX_INSTRUCTION_BYTES: usize = 4096;

impl ServerEntry {
    /// Why models do not get these instructions, if they do not. `instructions` of the entry
    /// decides; by default, those of an untrusted server and those that resemble an injection are
    /// rejected.
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
